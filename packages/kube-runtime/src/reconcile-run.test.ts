import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, FencedError } from "@klutch/kube";
import { configMaps, type DynamicObject } from "@klutch/kube-core";
import { ApiServerModel, seededRandom, VirtualClock } from "@klutch/kube-testing";
import { type Logger, silentLogger } from "@klutch/telemetry";
import { Informer } from "./cache/informer.ts";
import { Controller, type Reconcile } from "./controller.ts";
import { type LogLine, recordingLogger } from "./testing/recording-logger.ts";

/** A controller with one worker in virtual time, and its log lines. */
class Fixture implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly lines: LogLine[] = [];
  readonly controller: Controller;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(reconcile: Reconcile, logger?: Logger) {
    const { clock, lines } = this;
    this.controller = new Controller({
      name: "test",
      workers: 1,
      clock,
      random: seededRandom(3),
      logger: logger ?? recordingLogger(lines),
      baseDelayMs: 1_000,
      reconcile,
    });
  }

  async run(ms = 0): Promise<void> {
    this.#running ??= this.controller.start({ signal: this.#stop.signal });
    await this.clock.advance(ms);
  }

  /** The lines that close a reconcile. */
  get ends(): readonly LogLine[] {
    return this.lines.filter(({ fields }) => fields["outcome"] !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test ended"));
    await this.#running;
  }
}

test("every line of a reconcile carries its key, its id and its reasons, and no two reconciles share an id", async () => {
  await using fixture = new Fixture(async (_key, { logger }) => {
    logger.info("first");
    logger.info("second");
  });
  fixture.controller.enqueue("a", { reason: "a person asked" });
  fixture.controller.enqueue("b", { reason: "a timer fired" });
  await fixture.run();
  const seen = fixture.lines.map(({ message, fields: { key, reasons } }) => [message, key, reasons]);
  const linesOf = (key: string, reason: string): readonly unknown[] =>
    ["first", "second", "reconciled"].map((message) => [message, key, [reason]]);
  assert.deepEqual(seen, [...linesOf("a", "a person asked"), ...linesOf("b", "a timer fired")]);
  const ids = fixture.lines.map(({ fields }) => fields["reconcileID"]);
  assert.deepEqual([new Set(ids.slice(0, 3)).size, new Set(ids.slice(3)).size, new Set(ids).size], [1, 1, 2]);
});

test("the debug lines answer why a key was reconciled forty times", async () => {
  await using fixture = new Fixture(async (key) =>
    key === "default/app" ? { requeueAfterMs: 60_000 } : undefined,
  );
  const server = new ApiServerModel({ clock: fixture.clock, uidSeed: 1 });
  const client = server.client({ clusterName: "test" });
  await using informer = new Informer<DynamicObject>({
    client,
    type: configMaps,
    namespace: "default",
    clock: fixture.clock,
  });
  const write = async (name: string, data: Readonly<Record<string, string>>): Promise<void> => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data };
    await client.apply(configMaps, object, { fieldManager: "user", force: true });
  };
  await write("app", {});
  informer.start();
  await fixture.clock.resolve(informer.whenSynced());
  fixture.controller.watch(informer);
  await fixture.run();
  for (let version = 0; version < 29; version++) {
    await write("app", { version: String(version) });
    await write("other", { version: String(version) });
    await fixture.run();
  }
  await fixture.run(10 * 60_000);

  const counts = new Map<string, number>();
  for (const { fields } of fixture.ends.filter(({ fields: { key } }) => key === "default/app"))
    for (const reason of fields["reasons"] as readonly string[])
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
  assert.deepEqual(Object.fromEntries(counts), {
    "ConfigMap listed": 1,
    "ConfigMap updated": 29,
    "requeued after a wait": 10,
  });
});

test("a key that is added while it waits is reconciled once, with its first four distinct reasons and their count", async () => {
  await using fixture = new Fixture(async () => undefined);
  for (const reason of ["one", "two", "one", "three", "four", "five", "five"])
    fixture.controller.enqueue("a", { reason });
  await fixture.run();
  assert.deepEqual(
    fixture.ends.map(({ fields: { reasons, requests } }) => ({ reasons, requests })),
    [{ reasons: ["one", "two", "three", "four"], requests: 7 }],
  );
});

test("reasons that come during a reconcile belong to the next one", async () => {
  let count = 0;
  await using fixture: Fixture = new Fixture(async () => {
    if (count++ === 0) fixture.controller.enqueue("a", { reason: "meanwhile" });
  });
  fixture.controller.enqueue("a", { reason: "first" });
  await fixture.run();
  assert.deepEqual(
    fixture.ends.map(({ fields }) => fields["reasons"]),
    [["first"], ["meanwhile"]],
  );
});

const conflict = new ApiError({ status: 409, reason: "Conflict", message: "the object has been modified" });
for (const [what, error, outcome, reason] of [
  ["an error", new Error("down"), "error", "retry after an error"],
  ["a conflict", conflict, "error", "retry after a conflict"],
  ["a lost lease", new FencedError("the lease is lost"), "aborted", "retry after a lost lease"],
] as const) {
  test(`a reconcile after ${what} says so, and the failed one is closed by one line`, async () => {
    let count = 0;
    await using fixture = new Fixture(async () => {
      if (count++ === 0) throw error;
    });
    fixture.controller.enqueue("a", { reason: "first" });
    await fixture.run(60_000);
    assert.deepEqual(
      fixture.ends.map(({ fields }) => [fields["outcome"], fields["reasons"]]),
      [
        [outcome, ["first"]],
        ["success", [reason]],
      ],
    );
    assert.equal(fixture.lines.length, 2);
  });
}

test("a reconcile may name the reason of the next one, and the earlier of two waits keeps its own", async () => {
  let count = 0;
  await using fixture = new Fixture(async () =>
    count++ === 0 ? { requeueAfterMs: 1_000, reason: "answer overdue" } : undefined,
  );
  fixture.controller.enqueue("a", { reason: "first" });
  fixture.controller.enqueue("a", { reason: "later", afterMs: 5_000 });
  await fixture.run(500);
  await fixture.run(60_000);
  assert.deepEqual(
    fixture.ends.map(({ fields }) => fields["reasons"]),
    [["first"], ["answer overdue"]],
  );
});

test("nothing is built for debug lines that are not written", async () => {
  let children = 0;
  const child = (): Logger => ({ ...logger, child: () => (children++, logger) });
  const logger: Logger = { ...silentLogger, child };
  await using fixture = new Fixture(async () => undefined, logger);
  fixture.controller.enqueue("a");
  await fixture.run();
  assert.equal(children, 0);
});
