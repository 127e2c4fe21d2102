/** Several resources, a manager that makes backups of its own, lost requests, lost answers and crashes, in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createIntent, findLostBackup } from "./lost-answer.ts";
import type { Backup } from "./types.ts";

const minute = 60_000;
const hour = 60 * minute;

/** Fate of one call. */
interface Fate {
  /** True if the request reaches the manager, also after the caller gave up; and the delay after sending. */
  readonly arrives: boolean;
  readonly tookMs: number;
  /** True if the answer reaches the caller and is stored; else it is lost, or the caller dies. */
  readonly isKept: boolean;
  /** Delay after the call until the next look. */
  readonly looksAfterMs: number;
  /** Delay after the call's begin of an automatic backup; undefined if the manager makes none. */
  readonly autoAfterMs: number | undefined;
}

const fate: fc.Arbitrary<Fate> = fc.record({
  arrives: fc.boolean(),
  tookMs: fc.integer({ min: 1, max: 2 * minute - 1 }),
  isKept: fc.boolean(),
  looksAfterMs: fc.oneof(fc.integer({ min: 1, max: 3 * minute }), fc.integer({ min: 1, max: 30 * hour })),
  autoAfterMs: fc.option(fc.integer({ min: 1, max: 10 * hour }), { nil: undefined }),
});

/** A manager with a wrong clock: requests arrive at their time, in the order of time. */
class Manager {
  readonly made: { readonly at: number; readonly by: string; readonly backup: Backup }[] = [];
  readonly #offMs: number;
  #coming: { readonly at: number; readonly by: string }[] = [];

  constructor(offMs: number) {
    this.#offMs = offMs;
  }

  receive(at: number, by: string): void {
    this.#coming.push({ at, by });
  }

  list(now: number): readonly Backup[] {
    const arrived = this.#coming.filter(({ at }) => at <= now).toSorted((a, b) => a.at - b.at);
    this.#coming = this.#coming.filter(({ at }) => at > now);
    for (const { at, by } of arrived) {
      const triggeredAtMs = at + this.#offMs;
      const backup = { id: this.made.length + 1, state: "done", downloadable: false, triggeredAtMs };
      this.made.push({ at, by, backup });
    }
    return this.made.map(({ backup }) => backup);
  }
}

/** One resource, from its wish to its backup; undefined when its fates are used up before. Returns when that was. */
function obtain(
  name: string,
  fates: readonly Fate[],
  manager: Manager,
  owners: Map<number, string>,
  start: number,
): number {
  let now = start;
  for (const { arrives, tookMs, isKept, looksAfterMs, autoAfterMs } of fates) {
    const sentAt = now;
    const intent = createIntent(manager.list(now), now);
    if (autoAfterMs !== undefined) manager.receive(sentAt + autoAfterMs, "auto");
    if (arrives) manager.receive(sentAt + tookMs, name);
    if (arrives && isKept) {
      now = sentAt + tookMs;
      manager.list(now);
      const own = manager.made.findLast(({ by }) => by === name);
      assert.ok(own !== undefined);
      owners.set(own.backup.id, name);
      return now;
    }
    now = sentAt + looksAfterMs;
    const look = (): ReturnType<typeof findLostBackup> =>
      findLostBackup(manager.list(now), intent, { nowMs: now, claimed: new Set(owners.keys()) });
    let answer = look();
    while (answer.kind === "wait") {
      now += answer.forMs;
      answer = look();
    }
    if (answer.kind === "none") continue;
    const taken = answer.kind === "found" ? answer.item : answer.items[0];
    assert.ok(!owners.has(taken.id), "a backup belongs to one resource");
    owners.set(taken.id, name);
    const { at } = manager.made[taken.id - 1] ?? { at: 0 };
    assert.ok(at >= sentAt, "a backup is not older than the wish for it");
    return now;
  }
  return now;
}

test("a caller that follows the list makes no backup twice and shares none, whatever gets lost", () => {
  const off = fc.integer({ min: -5 * minute, max: 5 * minute });
  const resources = fc.array(fc.array(fate, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(off, resources, (offMs, all) => {
      const manager = new Manager(offMs);
      const owners = new Map<number, string>();
      let now = Date.UTC(2026, 2, 1);
      for (const [index, fates] of all.entries()) now = obtain(`r${index}`, fates, manager, owners, now) + 1;
      manager.list(now + 30 * hour);
      for (const index of all.keys()) {
        const made = manager.made.filter(({ by }) => by === `r${index}`).length;
        assert.ok(made <= 1, `r${index} made ${made} backups`);
      }
    }),
    { numRuns: 5_000 },
  );
});
