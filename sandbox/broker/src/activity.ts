/**
 * Finds out how large each instance is and when a client last had a session in it, for the drivers whose servers can tell. A request never waits
 * for it: the results are in the broker's database, and an answer has those of the last look.
 *
 * | a look finds                                            | the last session                                   |
 * |---------------------------------------------------------|----------------------------------------------------|
 * | the instance for the first time                         | is now: nothing is known of the time before        |
 * | a client that is connected                              | is now                                             |
 * | more sessions than before, besides the broker's own     | is now: it was since the look before               |
 * | fewer sessions, or another server                       | is now if there was any session since it began     |
 * | none of these                                           | stays                                              |
 */
import { setTimeout as sleep } from "node:timers/promises";
import { bytesAttribute, lastSessionAttribute } from "@klutch/api";
import type { Logger } from "@klutch/telemetry";
import type { Activity, Driver } from "./drivers/driver.ts";
import type { Instance, SeenActivity, Store } from "./store.ts";

/** Parts of `ActivityWatch`. */
export interface ActivityParts {
  readonly store: Pick<Store, "provisioned" | "activity" | "saveActivity">;
  readonly driverOf: (instance: Instance) => Driver | undefined;
  readonly logger: Logger;
  /** Milliseconds between two looks. Default: 5 minutes. */
  readonly everyMs?: number | undefined;
}

const [defaultEveryMs, leastEveryMs] = [300_000, 10];

/** Looks at all instances, again and again. */
export class ActivityWatch implements AsyncDisposable {
  readonly #parts: ActivityParts;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(parts: ActivityParts) {
    this.#parts = parts;
  }

  /** Begins with a first look. Does not wait for it. */
  start(): void {
    this.#running = this.#run();
  }

  /** Looks once. An instance whose server does not answer is left as it was. */
  async look(): Promise<void> {
    const { store, driverOf } = this.#parts;
    const byDriver = Map.groupBy(await store.provisioned(), driverOf);
    for (const [driver, instances] of byDriver) {
      if (driver?.activity === undefined) continue;
      for await (const [instance, activity] of driver.activity(instances)) {
        if (this.#stop.signal.aborted) return;
        const seen = seenAfter(await store.activity(instance.id), activity, new Date());
        await store.saveActivity(instance.id, seen);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { logger, everyMs = defaultEveryMs } = this.#parts;
    const { signal } = this.#stop;
    let said = "";
    while (!signal.aborted) {
      try {
        await this.look();
        said = "";
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        if (words !== said && !signal.aborted)
          logger.warn("sizes and sessions of instances are not known", { error });
        said = words;
      }
      await sleep(Math.max(leastEveryMs, everyMs), undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Returns the result after one more look. */
export function seenAfter(before: SeenActivity | undefined, now: Activity, at: Date): SeenActivity {
  const { bytes, epoch, sessions, isOpen, own } = now;
  const isGoingOn = before?.epoch === epoch && sessions >= before.sessions;
  const added = sessions - (isGoingOn ? before.sessions : 0) - own;
  const isUsed = before === undefined || isOpen || added > 0;
  return { bytes, epoch, sessions, lastSession: isUsed ? at : before.lastSession };
}

/** Returns the metadata of an instance as an answer has it (OSB 2.16); nothing if nothing is known. */
export function metadataOf(seen: SeenActivity | undefined): object {
  if (seen === undefined) return {};
  const attributes = {
    [bytesAttribute]: String(seen.bytes),
    [lastSessionAttribute]: seen.lastSession.toISOString(),
  };
  return { metadata: { attributes } };
}
