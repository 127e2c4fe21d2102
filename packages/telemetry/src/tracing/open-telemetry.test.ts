import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createLogger } from "../logger.ts";
import { createMetrics } from "../metrics.ts";
import { receiveTraces } from "@klutch/kube-testing";
import { readTracing } from "./config.ts";
import { activeScope, inSpan, type Tracer } from "./scope.ts";
import { startTracing } from "./start-tracing.ts";
import { formatTraceparent } from "./traceparent.ts";

interface Fixture {
  readonly tracer: Tracer;
  readonly lines: string[];
  readonly metrics: ReturnType<typeof createMetrics>;
}

async function start(env: Readonly<Record<string, string>>): Promise<Fixture> {
  const { config, faults } = readTracing({ OTEL_BSP_SCHEDULE_DELAY: "50", ...env }, "konnector");
  assert.ok(config !== undefined, faults.join());
  const lines: string[] = [];
  const metrics = createMetrics();
  const logger = createLogger({ name: "konnector", write: (line) => lines.push(line) });
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const tracer = await startTracing({ config, version: "1", logger, metrics, clock, random: Math.random });
  return { tracer, lines, metrics };
}

const forgedTrace = "11111111111111111111111111111111";
const forged = `00-${forgedTrace}-2222222222222222-01`;

test("work that asks for something is one trace with its children; work that does not is none", async () => {
  await using receiver = await receiveTraces();
  const { tracer } = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
  await tracer.run({ name: "idle" }, async () => {
    assert.equal(activeScope()?.identity(), undefined);
  });
  await tracer.run({ name: "reconcile", attributes: { "klutch.key": "a/b" } }, async () => {
    activeScope()?.follow(forged);
    activeScope()?.follow("x".repeat(10_000));
    await inSpan({ name: "request", kind: "client" }, async () => sleep(5));
    await assert.rejects(
      inSpan({ name: "failing" }, () => Promise.reject(new Error("password hunter2 is wrong"))),
    );
  });
  await tracer[Symbol.asyncDispose]();
  assert.deepEqual(receiver.spans.map(({ name }) => name).toSorted(), ["failing", "reconcile", "request"]);
  const byName = new Map(receiver.spans.map((span) => [span.name, span]));
  const root = byName.get("reconcile");
  assert.equal(root?.parentID, undefined);
  assert.notEqual(root?.traceID, forgedTrace, "a stranger's word does not choose the trace");
  assert.deepEqual(root?.links, [{ traceID: forgedTrace, spanID: "2222222222222222" }]);
  assert.equal(root?.attributes["klutch.key"], "a/b");
  for (const child of ["request", "failing"]) {
    assert.equal(byName.get(child)?.parentID, root?.spanID);
    assert.equal(byName.get(child)?.traceID, root?.traceID);
  }
  assert.equal(byName.get("failing")?.isFailed, true);
  assert.doesNotMatch(receiver.requests.map(({ body }) => body).join(), /hunter2/);
});

test("work that is not recorded leaves nothing and says nothing, until a recorded cause is named", async () => {
  await using receiver = await receiveTraces();
  const { tracer } = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "0",
  });
  await tracer.run({ name: "no" }, async () => {
    await inSpan({ name: "child" }, async (scope) => assert.equal(scope?.begin(), undefined));
    assert.equal(activeScope()?.begin(), undefined);
    activeScope()?.follow(
      formatTraceparent({ traceID: forgedTrace, spanID: "2222222222222222", isSampled: false }),
    );
    assert.equal(activeScope()?.begin(), undefined);
  });
  await tracer.run({ name: "yes" }, async () => {
    assert.equal(activeScope()?.begin(), undefined);
    activeScope()?.follow(forged);
    assert.notEqual(activeScope()?.begin(), undefined);
  });
  await tracer[Symbol.asyncDispose]();
  assert.deepEqual(
    receiver.spans.map(({ name }) => name),
    ["yes"],
  );
});

test("work that was begun inside and outlives the span adds nothing to it", async () => {
  await using receiver = await receiveTraces();
  const { tracer } = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
  const gate = Promise.withResolvers<void>();
  let late: Promise<unknown> = Promise.resolve();
  await tracer.run({ name: "starts a watch" }, async () => {
    activeScope()?.begin();
    late = gate.promise.then(() => inSpan({ name: "late" }, async (scope) => scope?.identity()));
  });
  gate.resolve();
  assert.equal(await late, undefined);
  await tracer[Symbol.asyncDispose]();
  assert.deepEqual(
    receiver.spans.map(({ name }) => name),
    ["starts a watch"],
  );
});

test("a receiver that hangs blocks nothing: spans beyond the queue are dropped and counted", async () => {
  const gate = Promise.withResolvers<number>();
  await using receiver = await receiveTraces(() => gate.promise);
  const { tracer, metrics } = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_MAX_QUEUE_SIZE: "10",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "5",
  });
  const startedAt = performance.now();
  for (let index = 0; index < 1000; index++)
    await tracer.run({ name: "work" }, async () => void activeScope()?.begin());
  assert.ok(performance.now() - startedAt < 5000);
  assert.match(await metrics.text(), /klutch_trace_spans_dropped_total\{reason="queue_full"\} 990/);
  gate.resolve(200);
  await tracer[Symbol.asyncDispose]();
  assert.equal(receiver.spans.length, 10);
  assert.match(await metrics.text(), /klutch_trace_spans_sent_total 10/);
});

test("a receiver that is away is told once, without its credentials, and the end of the process does not wait long", async () => {
  const { tracer, lines, metrics } = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://me:hunter2@127.0.0.1:1",
    OTEL_EXPORTER_OTLP_TIMEOUT: "300",
  });
  for (let index = 0; index < 3; index++) {
    await tracer.run({ name: "work" }, async () => void activeScope()?.begin());
    await sleep(450);
  }
  const startedAt = performance.now();
  await tracer[Symbol.asyncDispose]();
  assert.ok(performance.now() - startedAt < 4000);
  assert.match(await metrics.text(), /klutch_trace_spans_dropped_total\{reason="not_sent"\} 3/);
  assert.equal(lines.filter((line) => line.includes("traces cannot be sent")).length, 1, lines.join(""));
  assert.match(lines.join(""), /"endpoint":"http:\/\/127\.0\.0\.1:1"/);
  assert.doesNotMatch(lines.join(""), /hunter2|me:/);
});

test("credentials of the address go to the receiver", async () => {
  await using receiver = await receiveTraces();
  const { tracer, lines } = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url.replace("//", "//me:hunter2@"),
  });
  await tracer.run({ name: "work" }, async () => void activeScope()?.begin());
  await tracer[Symbol.asyncDispose]();
  assert.equal(receiver.requests[0]?.authorization, `Basic ${Buffer.from("me:hunter2").toString("base64")}`);
  assert.doesNotMatch(lines.join(""), /hunter2/);
});
