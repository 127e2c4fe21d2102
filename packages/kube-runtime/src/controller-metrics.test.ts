import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "@klutch/kube-testing";
import { createMetrics, type Metrics } from "@klutch/telemetry";
import { Controller, type Reconcile } from "./controller.ts";
import { TerminalError } from "./errors.ts";

/** Values of the samples, by name and labels as they are shown. */
async function samplesOf(metrics: Metrics): Promise<ReadonlyMap<string, number>> {
  const lines = (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(" ")),
      Number(line.slice(line.lastIndexOf(" ") + 1)),
    ]),
  );
}

function start(reconcile: Reconcile): {
  readonly clock: VirtualClock;
  readonly metrics: Metrics;
  readonly controller: Controller;
  readonly stop: () => Promise<void>;
} {
  const clock = new VirtualClock();
  const metrics = createMetrics();
  const controller = new Controller({
    name: "test",
    workers: 1,
    reconcile,
    metrics,
    clock,
    random: () => 0.5,
  });
  const abort = new AbortController();
  const running = controller.start({ signal: abort.signal });
  return {
    clock,
    metrics,
    controller,
    async stop() {
      abort.abort(new Error("the test is over"));
      await running;
    },
  };
}

const ofController = '{controller="test"}';
const ofQueue = '{name="test",controller="test"}';
const result = (word: string): string =>
  `controller_runtime_reconcile_total{controller="test",result="${word}"}`;

test("each reconcile is counted by its result, errors once more, and terminal ones a third time", async () => {
  const answers: (() => unknown)[] = [
    () => undefined,
    () => ({ requeueAfterMs: 3_600_000 }),
    () => {
      throw new TerminalError("never");
    },
    () => {
      throw new Error("not now");
    },
    () => undefined,
  ];
  const { clock, metrics, controller, stop } = start(async () => answers.shift()?.() as undefined);
  for (const key of ["a", "b", "c", "d"]) controller.enqueue(key);
  await clock.advance(1_000);
  const samples = await samplesOf(metrics);
  assert.equal(samples.get(result("success")), 2);
  assert.equal(samples.get(result("requeue_after")), 1);
  assert.equal(samples.get(result("error")), 2);
  assert.equal(samples.get(`controller_runtime_reconcile_errors_total${ofController}`), 2);
  assert.equal(samples.get(`controller_runtime_terminal_reconcile_errors_total${ofController}`), 1);
  assert.equal(samples.get(`controller_runtime_reconcile_time_seconds_count${ofController}`), 5);
  assert.equal(samples.get(`workqueue_retries_total${ofQueue}`), 1);
  assert.equal(samples.get(`workqueue_adds_total${ofQueue}`), 5);
  await stop();
});

test("waiting and working are measured apart, and running reconciles are shown", async () => {
  const { clock, metrics, controller, stop } = start(() => clock.sleep(10_000));
  controller.enqueue("a");
  controller.enqueue("b");
  controller.enqueue("b");
  await clock.advance(4_000);
  const during = await samplesOf(metrics);
  assert.equal(during.get(`workqueue_depth${ofQueue}`), 1);
  assert.equal(during.get(`workqueue_adds_total${ofQueue}`), 2);
  assert.equal(during.get(`controller_runtime_active_workers${ofController}`), 1);
  assert.equal(during.get(`controller_runtime_max_concurrent_reconciles${ofController}`), 1);
  assert.equal(during.get(`workqueue_unfinished_work_seconds${ofQueue}`), 4);
  assert.equal(during.get(`workqueue_longest_running_processor_seconds${ofQueue}`), 4);
  await clock.advance(16_000);
  const after = await samplesOf(metrics);
  assert.equal(after.get(`workqueue_queue_duration_seconds_sum${ofQueue}`), 10);
  assert.equal(after.get(`workqueue_work_duration_seconds_sum${ofQueue}`), 20);
  assert.equal(after.get(`workqueue_depth${ofQueue}`), 0);
  assert.equal(after.get(`workqueue_unfinished_work_seconds${ofQueue}`), 0);
  await stop();
});

test("a key that changes while it is worked on waits from that moment, and is added once", async () => {
  const { clock, metrics, controller, stop } = start(() => clock.sleep(10_000));
  controller.enqueue("a");
  await clock.advance(3_000);
  controller.enqueue("a");
  await clock.advance(17_000);
  const samples = await samplesOf(metrics);
  assert.equal(samples.get(`workqueue_adds_total${ofQueue}`), 2);
  assert.equal(samples.get(`workqueue_queue_duration_seconds_sum${ofQueue}`), 7);
  assert.equal(samples.get(result("success")), 2);
  await stop();
});

test("controllers of one name count together, and a stopped one shows no gauges", async () => {
  const metrics = createMetrics();
  const clock = new VirtualClock();
  const abort = new AbortController();
  const runs = ["one", "two"].map((key) => {
    const controller = new Controller({
      name: "test",
      workers: 2,
      reconcile: async () => undefined,
      metrics,
      clock,
      random: () => 0.5,
    });
    controller.enqueue(key);
    return controller.start({ signal: abort.signal });
  });
  await clock.advance(1);
  const samples = await samplesOf(metrics);
  assert.equal(samples.get(result("success")), 2);
  assert.equal(samples.get(`controller_runtime_max_concurrent_reconciles${ofController}`), 4);
  abort.abort(new Error("the test is over"));
  await Promise.all(runs);
  const after = await samplesOf(metrics);
  assert.equal(after.has(`controller_runtime_max_concurrent_reconciles${ofController}`), false);
  assert.equal(after.get(result("success")), 2);
});

test("a controller has as many series as docs/monitoring.md says, whatever number of objects and results", async () => {
  const { clock, metrics, controller, stop } = start(async () => undefined);
  const count = async (): Promise<number> =>
    [...(await samplesOf(metrics)).keys()].filter((name) => name.includes('controller="test"')).length;
  const before = await count();
  for (let key = 0; key < 1_000; key++) controller.enqueue(`namespace/object-${key}`);
  await clock.advance(10_000);
  assert.deepEqual([before, await count()], [86, 86]);
  await stop();
});
