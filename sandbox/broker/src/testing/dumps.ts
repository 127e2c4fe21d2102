/** Dumps and restores through a driver, without the backup manager around it. */
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { postgres } from "@klutch/data-servers";
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

/** Returns dumps that are no longer what was written, each with a token for its restore. */
export function damaged(whole: Buffer): readonly (readonly [string, Buffer])[] {
  const flipped = Buffer.from(whole);
  const middle = Math.floor(whole.length / 2);
  flipped[middle] = (flipped[middle] ?? 0) ^ 1;
  return [
    ["half", whole.subarray(0, middle)],
    ["flipped", flipped],
    ["other", Buffer.from("no dump at all")],
    ["empty", Buffer.alloc(0)],
  ];
}

/** Restores a dump that comes in pieces, as a file does. */
export async function restore(
  driver: Driver,
  instance: Instance,
  whole: Buffer,
  options: Pick<postgres.RestoreOptions, "token" | "onStep"> & {
    readonly bindings?: readonly Binding[];
    readonly signal?: AbortSignal;
  },
): Promise<void> {
  const open = (): Readable => Readable.from(pieces(whole), { objectMode: false });
  const { token, onStep, bindings = [], signal = AbortSignal.timeout(120_000) } = options;
  await driver.restore(instance, bindings, { open, token, signal, onStep });
}

function* pieces(whole: Buffer): Generator<Buffer> {
  for (let at = 0; at < whole.length; at += 5_000) yield whole.subarray(at, at + 5_000);
}
