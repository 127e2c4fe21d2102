/** Bounds a wait. */
import type { Clock } from "@klutch/kube";

/** Waits until a promise has settled, but no longer than this. Returns false if the time was over first. */
export async function inTime(
  clock: Pick<Clock, "schedule">,
  mostMs: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const cancel = clock.schedule(mostMs, () => late.resolve(false));
  const settled = promise.then(
    () => true,
    () => true,
  );
  const isInTime = await Promise.race([settled, late.promise]);
  cancel();
  return isInTime;
}
