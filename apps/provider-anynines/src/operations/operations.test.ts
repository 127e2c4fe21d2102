/**
 * Whatever a backend answers, loses or makes late, and whenever the provider is killed: nothing is made twice, nothing is forgotten, and a
 * deletion leaves nothing. The naive list of what the backend really has is compared with the record after each step.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OsbError, OsbTransportError } from "@klutch/osb";
import fc from "fast-check";
import type { Operation } from "../records/operation.ts";
import { afterCall } from "./answers.ts";
import { type Kind, Operations, type Slot } from "./operations.ts";
import type { Observed } from "./step.ts";

/** One event of a call or a write. `late`: the call takes effect, and the backend answers that the operation is in progress. */
const fates = [
  "good",
  "late",
  "fails",
  "lost",
  "unsent",
  "refused",
  "broken",
  "crash before",
  "crash after",
] as const;
type Fate = (typeof fates)[number];
type Form = "repeat" | "retries" | "list";

class Crash extends Error {}

const { signal } = new AbortController();
const answer = (status: number): OsbError =>
  new OsbError({ status, error: "", description: "no", own: true, action: "PUT x" });

/** A backend, the object at the API server, and the provider that is killed now and then. */
class Fixture {
  /** The naive list: names of what the backend has, and whether each works. */
  readonly alive = new Map<string, "working" | "ready" | "failed">();
  /** Each name as often as it was made. */
  readonly made: string[] = [];
  /** The annotations. */
  record: Operation | undefined;
  known = false;
  discards = 0;
  now = 0;
  generation = 1;
  #arrivesAt = Number.POSITIVE_INFINITY;
  readonly #form: Form;
  readonly #fates: Fate[];

  constructor(form: Form, destiny: readonly Fate[]) {
    this.#form = form;
    this.#fates = [...destiny];
  }

  calm(): void {
    this.#fates.length = 0;
  }

  /** Takes effect now what was late. */
  arrive(): void {
    if (this.now >= this.#arrivesAt) this.#make(`#${this.made.length + 1}`, "ready");
  }

  disturb(destiny: readonly Fate[]): void {
    this.#fates.push(...destiny);
  }

  /** One reconcile, as the clients of instances, bindings, backups and restores do it. */
  async reconcile(wanted: boolean): Promise<void> {
    const options = { signal };
    const operations = new Operations(this.#kind());
    try {
      const said = await operations.look(options);
      if (said.kind === "working" || (said.kind === "searching" && said.waitMs !== undefined)) return;
      const { type, phase, discarded } = operations.current ?? {};
      if (!wanted) {
        if (this.#form === "list") {
          const { id } = operations.current ?? {};
          if (id !== undefined) await this.#effect("delete", () => this.alive.delete(`#${id}`));
          this.record = undefined;
        } else if (this.known || operations.current !== undefined)
          await operations.begin({ type: "delete" }, options);
        return;
      }
      if (this.known || phase === "made") return;
      const isLeft = type === "discard" || (type === "create" && phase === "failed" && discarded !== true);
      if (isLeft) {
        await operations.begin({ type: "discard", also: { discarded: { next: "1" } } }, options);
        if (operations.current !== undefined) return;
      }
      await operations.begin({ type: "create", also: { done: { known: "1" } } }, options);
    } catch (error) {
      const isExpected =
        error instanceof Crash || error instanceof OsbError || error instanceof OsbTransportError;
      if (!isExpected) throw error;
    }
  }

  get #name(): string {
    return `thing ${this.discards}`;
  }

  #kind(): Kind {
    const slot: Slot = {
      ...this.#slot(),
      get current() {
        return current();
      },
    };
    const current = (): Operation | undefined => this.record;
    return {
      slot,
      finds: this.#form === "list" ? "list" : "repeat",
      retries: this.#form === "retries",
      generation: this.generation,
      clock: { now: () => this.now },
      explain: (error) => error,
      failure: (error) => {
        if (error instanceof Crash) throw error;
        return { failure: "no" };
      },
      afterCall: (call, error, isRepeat) => {
        if (error instanceof Crash) return "repeat";
        // No number came back: only the list can tell.
        if (this.#form !== "list" || call !== "create") return afterCall(call, error, isRepeat);
        return error instanceof OsbError && error.status === 422 ? "forget" : "repeat";
      },
      also: ({ type }) => ({ discarded: { next: "1" }, done: type === "create" ? { known: "1" } : {} }),
      call: (call, { record, isWanted }) => this.#call(call, record, isWanted),
    };
  }

  /** One write is all or nothing. */
  #slot(): Pick<Slot, "write"> {
    return {
      write: async (record, also) => {
        const fate = this.#next();
        if (fate === "crash before") throw new Crash();
        const ended = this.record?.type === "delete" && record === undefined;
        this.record = record;
        if (also["next"] !== undefined) this.discards++;
        this.known = (this.known || also["known"] !== undefined) && !ended;
        if (fate === "crash after") throw new Crash();
      },
    };
  }

  async #call(call: string, record: Operation | undefined, isWanted: boolean): Promise<Observed> {
    if (call === "list") return this.#list(record, isWanted);
    if (call === "poll") return this.#poll(record);
    if (call === "publish") return this.#effect(call, () => ({ kind: "done" }));
    return this.#effect<Observed>(call, (fate) => {
      const name = this.#form === "list" ? `#${this.made.length + 1}` : this.#name;
      if (call !== "create") return this.#delete(name, fate);
      if (this.#form === "list") return this.#createListed(name, fate);
      const isSlow = fate === "late" || fate === "fails";
      if (!this.alive.has(name)) this.#make(name, fate === "fails" ? "failed" : isSlow ? "working" : "ready");
      if (isSlow || this.alive.get(name) !== "ready") return { kind: "accepted", key: "k" };
      return this.#form === "retries" ? { kind: "made" } : { kind: "done" };
    });
  }

  #make(name: string, state: "working" | "ready" | "failed"): void {
    this.made.push(name);
    this.alive.set(name, state);
    this.#arrivesAt = Number.POSITIVE_INFINITY;
  }

  /** It is on its way for less than 10. */
  #createListed(name: string, fate: Fate): Observed {
    if (fate === "late") {
      this.#arrivesAt = this.now + 9;
      throw new OsbTransportError("Timeout", "no");
    }
    this.#make(name, "ready");
    return { kind: "made", id: this.made.length };
  }

  #delete(name: string, fate: Fate): Observed {
    if (fate === "late") return { kind: "accepted", key: "d" };
    if (!this.alive.delete(name)) throw answer(410);
    return { kind: "done" };
  }

  #poll(record: Operation | undefined): Observed {
    const state = this.alive.get(this.#name);
    if (state === undefined) return { kind: "gone" };
    if (record?.type !== "create") return { kind: this.alive.delete(this.#name) ? "done" : "gone" };
    if (state === "failed") return { kind: "failed", description: "no room" };
    this.alive.set(this.#name, "ready");
    if (state === "working") return { kind: "working", description: "" };
    return this.#form === "retries" ? { kind: "made" } : { kind: "done" };
  }

  #list(record: Operation | undefined, isWanted: boolean): Observed {
    const [newest = 0, ...others] = [...this.alive.keys()].map((name) => Number(name.slice(1))).toReversed();
    const listed = { kind: "listed", newest: { id: newest }, isWanted } as const;
    assert.deepEqual(others, [], "one at most");
    if (record?.phase !== "calling") return listed;
    if (newest > (record.after?.id ?? 0)) return { ...listed, found: newest };
    return this.now - record.startedAt < 10 ? { ...listed, waitMs: 10 } : listed;
  }

  async #effect<T>(call: string, run: (fate: Fate) => T): Promise<T> {
    const fate = this.#next();
    if (fate === "crash before") throw new Crash();
    if (fate === "unsent") throw new OsbTransportError("Unreachable", "no");
    if (fate === "refused" && call !== "publish") throw answer(422);
    const result = run(fate);
    if (fate === "crash after") throw new Crash();
    if (fate === "lost") throw new OsbTransportError("Timeout", "no");
    if (fate === "broken") throw answer(500);
    return result;
  }

  #next(): Fate {
    return this.#fates.shift() ?? "good";
  }
}

/** Checks that the records name everything that the backend has. */
function check(fixture: Fixture, where: string): void {
  const names = [...fixture.alive.keys()];
  assert.ok(names.length <= 1, `${where}: ${names.join(", ")} at once`);
  const isRemembered = fixture.known || fixture.record !== undefined;
  assert.ok(names.length === 0 || isRemembered, `${where}: ${names.join(", ")} is forgotten`);
}

async function live(fixture: Fixture, wanted: boolean): Promise<void> {
  for (let time = 0; time < 60; time++) {
    // In the end nothing is disturbed any more.
    if (time === 45) fixture.calm();
    // At first shorter than a call may be on its way, then longer than any wait; another spec, so that a failure is tried again.
    fixture.now += time < 30 ? 4 : 1_000_000;
    fixture.arrive();
    fixture.generation++;
    await fixture.reconcile(wanted);
    check(fixture, `${wanted ? "make" : "delete"}, reconcile ${time}`);
  }
}

for (const form of ["repeat", "retries", "list"] as const) {
  test(`${form}: whatever is answered, lost or killed, one thing is made, and none is left after its deletion`, async () => {
    const destiny = fc.array(fc.constantFrom(...fates), { maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(destiny, destiny, async (making, deleting) => {
        const fixture = new Fixture(form, making);
        await live(fixture, true);
        assert.equal(fixture.alive.size, 1, "it is there");
        assert.equal(fixture.made.length, new Set(fixture.made).size, "each name is made once");
        if (form === "list") assert.equal(fixture.made.length, 1, "a number is made once");
        fixture.disturb(deleting);
        await live(fixture, false);
        assert.deepEqual([...fixture.alive.keys()], [], "nothing is left");
      }),
      { numRuns: 1_000 },
    );
  });
}
