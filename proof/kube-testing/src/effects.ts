/** Faults of a process, on demand: at a chosen effect it crashes, is refused, or never gets the answer. */
import { ApiError, type KubeClient, TransportError } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";

/** A fault at an effect, that is a write to the API server or a call that changes the backend. */
export type EffectFault =
  /** It happens, and the process ends before it knows. */
  | "crash"
  /** It happens, and the process gets an error instead of the answer. */
  | "lost answer"
  /** It does not happen: 500. */
  | "refused"
  /** It does not happen: another writer was faster. */
  | "conflict";

/** All faults. */
export const effectFaults: readonly EffectFault[] = ["crash", "lost answer", "refused", "conflict"];

/** Thrown by everything that a process does after its crash. */
export class CrashError extends Error {
  readonly code = "Crash";
}

/** Counts the effects of all processes, one after the other, and lets faults happen at chosen ones. */
export class Effects {
  /** The effects that happened, in order. */
  readonly log: string[] = [];
  readonly #plan: ReadonlyMap<number, EffectFault>;
  readonly #onEffect: ((count: number) => Promise<void>) | undefined;

  /** `plan`: fault by number of the effect, from 1. `onEffect`: called after each effect, before its answer arrives. */
  constructor(
    plan: ReadonlyMap<number, EffectFault> = new Map(),
    onEffect?: (count: number) => Promise<void>,
  ) {
    this.#plan = plan;
    this.#onEffect = onEffect;
  }

  get count(): number {
    return this.log.length;
  }

  /** The effects of one process; `onCrash` is called when it crashes. */
  ofProcess(onCrash: () => void): <T>(what: string, effect: () => Promise<T>) => Promise<T> {
    let isDead = false;
    return async (what, effect) => {
      if (isDead) throw new CrashError(`${what} after the crash`);
      this.log.push(what);
      const count = this.count;
      const fault = this.#plan.get(count);
      if (fault === "refused") throw apiError(500, "InternalError", what);
      if (fault === "conflict") throw apiError(409, "Conflict", what);
      const answer = await effect();
      await this.#onEffect?.(count);
      if (fault === "lost answer") throw new TransportError("Reset", `${what}: the connection broke`);
      if (fault === "crash") {
        isDead = true;
        onCrash();
        throw new CrashError(`crashed after ${what}`);
      }
      return answer;
    };
  }
}

/** An error of the API server. */
export function apiError(status: number, reason: string, message: string): ApiError {
  return new ApiError({ status, reason, message });
}

/** The client, whose writes are effects. */
export function withEffects(
  client: KubeClient,
  effect: <T>(what: string, run: () => Promise<T>) => Promise<T>,
): KubeClient {
  return {
    ...client,
    create: <T extends KubeObject>(...[type, object, options]: Parameters<typeof client.create<T>>) =>
      effect(`create ${type.kind}`, () => client.create<T>(type, object, options)),
    replace: <T extends KubeObject>(...[type, object, options]: Parameters<typeof client.replace<T>>) =>
      effect(`replace ${type.kind}`, () => client.replace<T>(type, object, options)),
    mergePatch: <T extends KubeObject>(
      ...[type, ref, patch, options]: Parameters<typeof client.mergePatch<T>>
    ) =>
      effect(`patch ${type.kind} ${options?.subresource ?? "metadata"}`, () =>
        client.mergePatch<T>(type, ref, patch, options),
      ),
    delete: (type, ref, options) => effect(`delete ${type.kind}`, () => client.delete(type, ref, options)),
  };
}
