/** Fakes only stand for parts whose order matters; the lease on a real server is in `manager.real.test.ts`. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { FencedError } from "@klutch/kube";
import { VirtualClock } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { ListenError } from "../errors.ts";
import { type ManagedConnection, Manager, type ManagerOptions } from "./manager.ts";
import type { ManagedCache, Runnable } from "./runnable.ts";
import type { Runtime } from "./runtime.ts";

const runtimeWith = (clock: VirtualClock): Runtime => ({
  logger: silentLogger,
  metrics: createMetrics(),
  clock,
  random: () => 0.5,
});

/** A manager whose parts write into `log` what happens to them. */
class Fixture {
  readonly log: string[] = [];
  readonly clock = new VirtualClock();
  readonly stop = new AbortController();
  readonly elector = new FakeElector(this.log);
  readonly caches: { readonly fill: () => void }[] = [];

  manager(options: Partial<ManagerOptions> = {}): Manager {
    return new Manager({ ...runtimeWith(this.clock), ...options });
  }

  get connection(): ManagedConnection {
    return {
      elector: this.elector,
      [Symbol.asyncDispose]: async () => void this.log.push("connection closed"),
    };
  }

  /** A part that works until it is told to stop, and then needs some turns to end. */
  runnable(name: string, more: Partial<Runnable> = {}): Runnable {
    return {
      name,
      start: async ({ signal }) => {
        this.log.push(`${name} starts`);
        await aborted(signal);
        await turns(3);
        this.log.push(`${name} ends`);
      },
      ...more,
    };
  }

  cache(name: string): ManagedCache {
    const filled = Promise.withResolvers<void>();
    let synced = false;
    this.caches.push({
      fill: () => {
        synced = true;
        this.log.push(`${name} is filled`);
        filled.resolve();
      },
    });
    return {
      type: { group: "", version: "v1", plural: name, kind: name, namespaced: true },
      start: () => void this.log.push(`${name} starts`),
      whenSynced: (options) =>
        Promise.race([
          filled.promise,
          ...(options?.signal === undefined ? [] : [rejectWhenAborted(options.signal)]),
        ]),
      get synced() {
        return synced;
      },
      status: () => ({
        synced,
        lastEventAt: 0,
        stale: false,
        lastError: undefined,
        failingSince: undefined,
        resourceVersion: "",
      }),
      [Symbol.asyncDispose]: async () => void this.log.push(`${name} closes`),
    };
  }

  /** Returns the events since the last call. */
  async news(): Promise<readonly string[]> {
    await turns();
    return this.log.splice(0);
  }
}

/** Says who leads when a test wants it. */
class FakeElector {
  readonly #log: string[];
  #term = Promise.withResolvers<AbortSignal>();

  constructor(log: string[]) {
    this.#log = log;
  }

  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    this.#log.push("election starts");
    await aborted(signal);
    this.#log.push("lease given back");
  }

  whenLeading(): Promise<AbortSignal> {
    return this.#term.promise;
  }

  /** Begins a term; the returned function ends it. */
  lead(): () => void {
    const term = new AbortController();
    this.#term.resolve(term.signal);
    return () => {
      this.#term = Promise.withResolvers<AbortSignal>();
      term.abort(new FencedError("lost"));
    };
  }
}

test("parts start in order; on the way back the lease is given back as soon as no part of a term runs any more", async () => {
  const fixture = new Fixture();
  const manager = fixture.manager({ connection: fixture.connection });
  manager.own({ [Symbol.asyncDispose]: async () => void fixture.log.push("pool closed") });
  manager.add(fixture.runnable("first"), fixture.cache("widgets"), fixture.runnable("second"));
  manager.add(
    fixture.runnable("server", { runs: "process" }),
    fixture.runnable("memory", { runs: "process" }),
  );
  const running = manager.start({ signal: fixture.stop.signal });
  assert.deepEqual(await fixture.news(), [
    "election starts",
    "server starts",
    "memory starts",
    "widgets starts",
  ]);
  fixture.elector.lead();
  assert.deepEqual(await fixture.news(), [], "controllers run although a cache is empty");
  fixture.caches[0]?.fill();
  assert.deepEqual(await fixture.news(), ["widgets is filled", "first starts", "second starts"]);
  fixture.stop.abort(new Error("SIGTERM"));
  await running;
  assert.deepEqual(await fixture.news(), [
    "first ends",
    "second ends",
    "lease given back",
    "memory ends",
    "server ends",
    "widgets closes",
    "pool closed",
    "connection closed",
  ]);
});

test("without a lease the parts of a term run at once", async () => {
  const fixture = new Fixture();
  const manager = fixture.manager();
  manager.add(fixture.runnable("controller"));
  const running = manager.start({ signal: fixture.stop.signal });
  assert.deepEqual(await fixture.news(), ["controller starts"]);
  fixture.stop.abort(new Error("SIGTERM"));
  await running;
});

test("a lost lease stops the parts of the term and no others, and the next term starts them again", async () => {
  const fixture = new Fixture();
  const manager = fixture.manager({ connection: fixture.connection });
  manager.add(fixture.runnable("controller"), fixture.runnable("server", { runs: "process" }));
  const running = manager.start({ signal: fixture.stop.signal });
  const lose = fixture.elector.lead();
  assert.deepEqual(await fixture.news(), ["election starts", "server starts", "controller starts"]);
  lose();
  // Before the next term begins, the last reconcile of this one has ended.
  fixture.elector.lead();
  assert.deepEqual(await fixture.news(), ["controller ends", "controller starts"]);
  fixture.stop.abort(new Error("SIGTERM"));
  await running;
});

test("a part that is done leaves the others alone", async () => {
  const fixture = new Fixture();
  const manager = fixture.manager();
  manager.add(fixture.runnable("short", { start: async () => void fixture.log.push("short is done") }));
  manager.add(fixture.runnable("controller"));
  const running = manager.start({ signal: fixture.stop.signal });
  await fixture.clock.advance(60_000);
  assert.deepEqual(await fixture.news(), ["short is done", "controller starts"]);
  fixture.stop.abort(new Error("SIGTERM"));
  await running;
});

for (const runs of ["term", "process"] as const) {
  test(`a part of the ${runs} that fails ends the process in order, with its error`, async () => {
    const fixture = new Fixture();
    const manager = fixture.manager({ connection: fixture.connection });
    const failure = Promise.withResolvers<void>();
    manager.add(fixture.runnable("fragile", { runs, start: () => failure.promise }));
    manager.add(fixture.runnable("controller"));
    const running = manager.start({ signal: fixture.stop.signal });
    fixture.elector.lead();
    await fixture.news();
    failure.reject(new Error("broken"));
    await assert.rejects(running, /broken/);
    assert.deepEqual(await fixture.news(), ["controller ends", "lease given back", "connection closed"]);
  });
}

test("a part that may be restarted is, after waits that grow, and the others do not notice", async () => {
  const fixture = new Fixture();
  const manager = fixture.manager();
  const starts: number[] = [];
  manager.add(fixture.runnable("controller"));
  manager.add({
    name: "agent",
    onFailure: "restart",
    async start() {
      starts.push(fixture.clock.monotonic());
      throw new Error("no access");
    },
  });
  const running = manager.start({ signal: fixture.stop.signal });
  await fixture.clock.advance(60_000);
  const waits = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
  assert.deepEqual(waits.slice(0, 4), [300, 500, 900, 1700]);
  assert.ok(waits.every((wait) => wait <= 10_000));
  assert.deepEqual(await fixture.news(), ["controller starts"]);
  fixture.stop.abort(new Error("SIGTERM"));
  await running;
});

test("after a minute of work the waits before a restart begin again", async () => {
  const fixture = new Fixture();
  const manager = fixture.manager();
  const starts: number[] = [];
  manager.add({
    name: "agent",
    onFailure: "restart",
    async start() {
      starts.push(fixture.clock.monotonic());
      if (starts.length === 5) await fixture.clock.sleep(61_000);
      throw new Error("lost");
    },
  });
  const running = manager.start({ signal: fixture.stop.signal });
  await fixture.clock.advance(66_000);
  assert.equal((starts[5] ?? 0) - (starts[4] ?? 0), 61_300);
  fixture.stop.abort(new Error("SIGTERM"));
  await running;
});

test("stopping before the caches are filled starts no part of a term", async () => {
  const fixture = new Fixture();
  const manager = fixture.manager();
  manager.add(fixture.cache("widgets"), fixture.runnable("controller"));
  const running = manager.start({ signal: fixture.stop.signal });
  await fixture.news();
  fixture.stop.abort(new Error("SIGTERM"));
  await running;
  assert.deepEqual(await fixture.news(), ["widgets closes"]);
});

test("what goes wrong while a part stops does not fail the process", async () => {
  const fixture = new Fixture();
  const manager = fixture.manager();
  manager.add({
    name: "clumsy",
    async start({ signal }) {
      await aborted(signal);
      throw new Error("interrupted");
    },
  });
  const running = manager.start({ signal: fixture.stop.signal });
  await fixture.news();
  fixture.stop.abort(new Error("SIGTERM"));
  await running;
});

test("probes answer before anything else starts, and name the runnables that are not ready", async () => {
  const fixture = new Fixture();
  const listening = Promise.withResolvers<number>();
  const manager = fixture.manager({
    connection: fixture.connection,
    probes: { host: "127.0.0.1", port: 0 },
    onListening: listening.resolve,
  });
  let problem: string | undefined = "no provider";
  manager.add(fixture.cache("widgets"), fixture.runnable("agent", { problem: () => problem }));
  const running = manager.start({ signal: fixture.stop.signal });
  const base = `http://127.0.0.1:${await listening.promise}`;
  const ready = async (): Promise<unknown> => (await fetch(`${base}/readyz`)).json();
  assert.deepEqual(await (await fetch(`${base}/healthz`)).json(), { leaderElection: "ok" });
  assert.deepEqual(await ready(), {
    leaderElection: "ok",
    shutdown: "ok",
    caches: "the cache of widgets is not up to date",
    agent: "no provider",
  });
  fixture.caches[0]?.fill();
  problem = undefined;
  assert.deepEqual(await ready(), { leaderElection: "ok", shutdown: "ok", caches: "ok", agent: "ok" });
  fixture.stop.abort(new Error("SIGTERM"));
  await running;
});

test("a process that stops is not ready any more while it still answers those who wait", async () => {
  const fixture = new Fixture();
  const listening = Promise.withResolvers<number>();
  const probes = { host: "127.0.0.1", port: 0 };
  const manager = fixture.manager({ connection: fixture.connection, probes, onListening: listening.resolve });
  const answered = Promise.withResolvers<void>();
  const answer = async ({ signal }: { readonly signal: AbortSignal }): Promise<void> => {
    await aborted(signal);
    await answered.promise;
    fixture.log.push("the last one is answered");
  };
  manager.add(fixture.cache("widgets"), fixture.runnable("server", { runs: "process", start: answer }));
  const running = manager.start({ signal: fixture.stop.signal });
  fixture.caches[0]?.fill();
  const base = `http://127.0.0.1:${await listening.promise}`;
  assert.equal((await fetch(`${base}/readyz`)).status, 200);
  await fixture.news();
  fixture.stop.abort(new Error("SIGTERM"));
  const unready = await fetch(`${base}/readyz`);
  assert.equal(unready.status, 500);
  assert.match(await unready.text(), /"shutdown":"the process is stopping"/);
  assert.deepEqual(await fixture.news(), ["lease given back"]);
  answered.resolve();
  await running;
  assert.deepEqual(await fixture.news(), ["the last one is answered", "widgets closes", "connection closed"]);
});

test("a port that is taken is said clearly, and nothing has started", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const fixture = new Fixture();
  const manager = fixture.manager({ connection: fixture.connection, probes: { host: "127.0.0.1", port } });
  manager.add(fixture.runnable("controller"));
  await assert.rejects(manager.start({ signal: fixture.stop.signal }), (error) => {
    assert.ok(error instanceof ListenError);
    assert.match(
      error.message,
      new RegExp(
        `cannot listen on 127\\.0\\.0\\.1:${port}: another program uses this port\\. Stop it, or choose`,
      ),
    );
    return true;
  });
  assert.deepEqual(await fixture.news(), ["connection closed"]);
  await new Promise((resolve) => other.close(resolve));
});

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

async function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  await aborted(signal);
  throw new Error("stopped");
}

/** Lets all promises settle. */
async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
