/** Dumps and restores through a driver, without the backup manager around it. */
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { Driver } from "../drivers/driver.ts";
import type { Binding, Instance } from "../store.ts";

/** Returns a whole dump. */
export async function dump(driver: Driver, instance: Instance): Promise<Buffer> {
  const to = new PassThrough();
  const whole = buffer(to);
  whole.catch(() => undefined);
  try {
    await driver.dump(instance, to, AbortSignal.timeout(120_000));
    return await whole;
  } finally {
    to.destroy();
  }
}

/** Restores a dump that comes in pieces, as a file does. */
export async function restore(
  driver: Driver,
  instance: Instance,
  whole: Buffer,
  options: { readonly token: string; readonly bindings?: readonly Binding[]; readonly signal?: AbortSignal },
): Promise<void> {
  const open = (): Readable => Readable.from(pieces(whole), { objectMode: false });
  const { token, bindings = [], signal = AbortSignal.timeout(120_000) } = options;
  await driver.restore(instance, bindings, { open, token, signal });
}

function* pieces(whole: Buffer): Generator<Buffer> {
  for (let at = 0; at < whole.length; at += 5_000) yield whole.subarray(at, at + 5_000);
}
