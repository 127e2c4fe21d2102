import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { createMetrics, serverMetrics } from "@klutch/telemetry";
import { type ProbeOptions, type ProbeServer, startProbes } from "./probes.ts";

async function serve(options: Partial<ProbeOptions> = {}): Promise<ProbeServer> {
  return startProbes({ host: "127.0.0.1", port: 0, ...options });
}

async function ask(server: ProbeServer, path: string, method = "GET"): Promise<readonly [number, string]> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
  return [response.status, await response.text()];
}

test("a process without checks is healthy and ready, and shows no metrics", async () => {
  await using server = await serve();
  assert.deepEqual(await ask(server, "/healthz"), [200, "{}"]);
  assert.deepEqual(await ask(server, "/readyz"), [200, "{}"]);
  assert.deepEqual(await ask(server, "/metrics"), [404, ""]);
  assert.deepEqual(await ask(server, "/"), [404, ""]);
  assert.deepEqual(await ask(server, "/healthz/etcd"), [404, ""]);
});

test("an unhealthy process is not ready, an unready one may be healthy, and each check is named", async () => {
  const problems = new Map([["caches", "the cache of pods is not filled"]]);
  await using server = await serve({
    healthChecks: { loop: () => problems.get("loop") },
    readyChecks: { caches: () => problems.get("caches"), other: () => undefined },
  });
  assert.deepEqual(await ask(server, "/healthz"), [200, '{"loop":"ok"}']);
  const [status, text] = await ask(server, "/readyz");
  assert.equal(status, 500);
  assert.deepEqual(JSON.parse(text), { loop: "ok", caches: "the cache of pods is not filled", other: "ok" });
  problems.clear();
  assert.equal((await ask(server, "/readyz"))[0], 200);
  problems.set("loop", "stuck");
  assert.equal((await ask(server, "/healthz"))[0], 500);
  assert.equal((await ask(server, "/readyz"))[0], 500);
});

test("a check that throws is a failing check and not the end of the process", async () => {
  const broken = (): never => {
    throw new Error("no such cache");
  };
  await using server = await serve({ healthChecks: { broken }, readyChecks: { fine: () => undefined } });
  const [status, text] = await ask(server, "/readyz");
  assert.equal(status, 500);
  assert.deepEqual(JSON.parse(text), { broken: "no such cache", fine: "ok" });
});

test("a query does not matter", async () => {
  await using server = await serve({ readyChecks: { caches: () => "empty" } });
  assert.equal((await ask(server, "/healthz?verbose"))[0], 200);
  assert.equal((await ask(server, "/readyz?exclude=caches"))[0], 500);
});

test("metrics are served as Prometheus reads them, and a collector that fails is an error and no half page", async () => {
  const metrics = createMetrics();
  metrics.counter(serverMetrics.certificateReads).labels({}).inc();
  await using server = await serve({ metrics });
  const response = await fetch(`http://127.0.0.1:${server.port}/metrics`);
  assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  assert.match(await response.text(), /^certwatcher_read_certificate_total 1$/m);
  await using failing = await serve({
    metrics: { ...metrics, text: async () => Promise.reject(new Error("a secret detail")) },
  });
  assert.deepEqual(await ask(failing, "/metrics"), [500, "the metrics could not be collected"]);
});

test("a port that is taken is an error, and the first server goes on", async () => {
  await using first = await serve();
  await assert.rejects(serve({ port: first.port }), { code: "Listen" });
  assert.equal((await ask(first, "/healthz"))[0], 200);
});

test("it ends although connections are open, also such that never asked", async () => {
  const server = await serve();
  const closed = ["", "GET /healthz HT"].map(async (text) => {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(text);
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.on("close", () => resolve());
    await promise;
  });
  // The server knows the others by the time that it has answered a later one.
  await ask(server, "/healthz");
  await server[Symbol.asyncDispose]();
  await Promise.all(closed);
  await assert.rejects(ask(server, "/healthz"));
});
