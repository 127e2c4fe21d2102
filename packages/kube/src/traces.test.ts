import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { secrets } from "@klutch/kube-core";
import { receiveTraces } from "@klutch/kube-testing";
import {
  createLogger,
  createMetrics,
  parseTraceparent,
  readTracing,
  startTracing,
  type Tracer,
} from "@klutch/telemetry";
import { createKubeClient } from "./client.ts";
import { systemClock } from "./clock.ts";
import type { KubeClient } from "./types.ts";

interface Server extends AsyncDisposable {
  readonly client: KubeClient;
  /** The header of each request. */
  readonly headers: (string | undefined)[];
}

async function startServer(): Promise<Server> {
  const headers: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    const { traceparent } = request.headers;
    headers.push(Array.isArray(traceparent) ? traceparent.join() : traceparent);
    const isGood = request.url?.endsWith("/good") === true;
    response.writeHead(isGood ? 200 : 403, { "content-type": "application/json" });
    const metadata = { name: "good", namespace: "a" };
    response.end(JSON.stringify(isGood ? { apiVersion: "v1", kind: "Secret", metadata } : {}));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = createKubeClient({
    name: "test",
    server: `http://127.0.0.1:${port}`,
    auth: { kind: "none" },
    http2: false,
  });
  return {
    client,
    headers,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

async function start(env: Readonly<Record<string, string>>): Promise<Tracer> {
  const { config, faults } = readTracing(env, "test");
  assert.ok(config !== undefined, faults.join());
  const logger = createLogger({ name: "test", write: () => {} });
  const parts = { logger, metrics: createMetrics(), clock: systemClock, random: () => 0.5, version: "1" };
  return startTracing({ ...parts, config });
}

test("a request inside a recorded trace carries the span that sends it; others carry nothing", async () => {
  await using receiver = await receiveTraces();
  await using server = await startServer();
  const { client, headers } = server;
  const get = (name: string): Promise<unknown> => client.get(secrets, { namespace: "a", name });
  await get("good");
  const tracer = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
  await tracer.run({ name: "work" }, async () => {
    await get("good");
    await assert.rejects(get("bad"));
  });
  await get("good");
  await tracer[Symbol.asyncDispose]();
  const never = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: "always_off" });
  await never.run({ name: "unrecorded" }, () => get("good"));
  await never[Symbol.asyncDispose]();

  const [before, good, bad, after, unrecorded, ...more] = headers;
  assert.deepEqual([before, after, unrecorded, more], [undefined, undefined, undefined, []]);
  const root = receiver.spans.find(({ name }) => name === "work");
  const sent = receiver.spans.filter(({ name }) => name === "Kubernetes GET");
  assert.equal(receiver.spans.length, 3);
  assert.deepEqual(
    [good, bad].map((header) => parseTraceparent(header)?.spanID),
    sent.map(({ spanID }) => spanID),
  );
  for (const span of sent) assert.equal(span.parentID, root?.spanID);
  assert.deepEqual(
    sent.map(({ isFailed }) => isFailed),
    [false, true],
  );
});
