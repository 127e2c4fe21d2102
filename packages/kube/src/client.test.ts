/** Odd answers, from an in-process server whose only purpose is to cause them. Ordinary ones: client.real.test.ts. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { secrets } from "@klutch/kube-core";
import { createMetrics, Secret } from "@klutch/telemetry";
import { createKubeClient, type KubeClientOptions } from "./client.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { ClusterAuth } from "./config.ts";
import { ApiError, FencedError, isTooManyRequests } from "./errors.ts";
import type { KubeClient } from "./types.ts";

const ref = { namespace: "default", name: "a" };

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Fixture {
  readonly client: KubeClient;
  readonly port: number;
}

async function fixture(
  t: TestContext,
  handler: Handler,
  options: KubeClientOptions & { auth?: ClusterAuth } = {},
): Promise<Fixture> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const config = {
    name: "fake",
    server: `http://127.0.0.1:${address.port}`,
    auth: options.auth ?? { kind: "none" as const },
  };
  const client = createKubeClient(config, options);
  t.after(async () => {
    await client[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  return { client, port: address.port };
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

const object = { apiVersion: "v1", kind: "Secret", metadata: ref };

/** Real time, except that the long waits a server asks for pass at once. */
const impatientClock: Clock = {
  ...systemClock,
  sleep: (_ms, options) => systemClock.sleep(0, options),
};

test("a 429 is repeated after its Retry-After, and the call succeeds", async (t) => {
  let calls = 0;
  const { client } = await fixture(
    t,
    (_request, response) => {
      calls++;
      if (calls < 3) json(response, 429, { reason: "TooManyRequests" }, { "retry-after": "1" });
      else json(response, 200, object);
    },
    { flowControl: false, clock: impatientClock },
  );
  assert.deepEqual(await client.get(secrets, ref), object);
  assert.equal(calls, 3);
});

test("a server that only ever answers 429 is given up on after five tries", async (t) => {
  let calls = 0;
  const { client } = await fixture(
    t,
    (_request, response) => {
      calls++;
      json(response, 429, {}, { "retry-after": "1" });
    },
    { flowControl: false, clock: impatientClock },
  );
  await assert.rejects(
    client.get(secrets, ref),
    (error) => isTooManyRequests(error) && error.retryAfterMs === 1000,
  );
  assert.equal(calls, 5);
});

test("a read is repeated once when the connection breaks, a write never", async (t) => {
  const calls: string[] = [];
  const { client } = await fixture(t, (request, response) => {
    calls.push(request.method ?? "");
    if (calls.length === 1 || request.method === "POST") request.socket.destroy();
    else json(response, 200, object);
  });
  await client.get(secrets, ref);
  await assert.rejects(client.create(secrets, object), { code: "Reset" });
  assert.deepEqual(calls, ["GET", "GET", "POST"]);
});

test("an unreachable server, an HTML answer and a redirect each have a clear error", async (t) => {
  const { client, port } = await fixture(t, (request, response) => {
    if (request.url?.endsWith("/moved") === true)
      response.writeHead(302, { location: "http://elsewhere/" }).end();
    else response.end("<html>");
  });
  await assert.rejects(client.get(secrets, ref), {
    code: "Decode",
    message: /get Secret default\/a is not JSON/,
  });
  await assert.rejects(client.get(secrets, { ...ref, name: "moved" }), { code: "Api", status: 302 });
  const closed = createKubeClient({ name: "x", server: "http://127.0.0.1:1", auth: { kind: "none" } });
  t.after(() => closed[Symbol.asyncDispose]());
  await assert.rejects(closed.get(secrets, ref), { code: "ConnectionRefused", message: /127\.0\.0\.1:1/ });
  assert.ok(port > 0);
});

test("a caller's abort ends the request with the caller's reason", async (t) => {
  const { client } = await fixture(t, () => {});
  const controller = new AbortController();
  const call = client.get(secrets, ref, { signal: controller.signal });
  controller.abort(new Error("no longer wanted"));
  await assert.rejects(call, /no longer wanted/);
});

test("no lease, no write: a guarded client sends no write, and cuts those in flight when the lease is lost", async (t) => {
  const seen: string[] = [];
  const lease = new AbortController();
  let leading = true;
  const arrived = Promise.withResolvers<void>();
  const { client } = await fixture(
    t,
    (request, response) => {
      seen.push(request.method ?? "");
      if (request.method === "GET") json(response, 200, object);
      else arrived.resolve();
    },
    {
      writeGuard: {
        assertMayWrite() {
          if (!leading) throw new FencedError("the lease is lost");
        },
        get signal() {
          return lease.signal;
        },
      },
    },
  );
  const inFlight = client.create(secrets, object);
  await arrived.promise;
  leading = false;
  lease.abort(new FencedError("the lease is lost"));
  await assert.rejects(inFlight, { code: "Fenced" });
  await assert.rejects(client.apply(secrets, object, { fieldManager: "test" }), { code: "Fenced" });
  await assert.rejects(client.delete(secrets, ref), { code: "Fenced" });
  await client.get(secrets, ref);
  assert.deepEqual(seen, ["POST", "GET"]);
});

test("each way to write spares the server the second decoding of the body", async (t) => {
  const seen: string[] = [];
  const { client } = await fixture(t, (request, response) => {
    seen.push(request.url ?? "");
    json(response, 200, object);
  });
  await client.create(secrets, object);
  await client.replace(secrets, object);
  await client.apply(secrets, object, { fieldManager: "test", force: true });
  await client.mergePatch(secrets, ref, {}, { subresource: "status" });
  await client.jsonPatch(secrets, ref, []);
  const queries = seen.map((url) => new URL(url, "http://server").searchParams);
  assert.deepEqual(
    queries.map((query) => query.getAll("fieldValidation")),
    Array.from({ length: 5 }, () => ["Ignore"]),
  );
  assert.equal(queries[2]?.get("force"), "true");
});

test("a token file is read again after a 401, without a new client", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-token-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "token");
  await writeFile(path, "one\n");
  let valid = "Bearer one";
  const { client } = await fixture(
    t,
    (request, response) => {
      if (request.headers.authorization === valid) json(response, 200, object);
      else json(response, 401, { reason: "Unauthorized" });
    },
    { auth: { kind: "tokenFile", path } },
  );
  await client.get(secrets, ref);
  await writeFile(path, "two\n");
  valid = "Bearer two";
  await client.get(secrets, ref);
  valid = "Bearer three";
  await assert.rejects(client.get(secrets, ref), { status: 401 });
});

test("a credential plugin is run once for many requests, and its failure is named", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-exec-"));
  t.after(() => rm(folder, { recursive: true }));
  const script = `require("node:fs").appendFileSync(${JSON.stringify(join(folder, "runs"))}, "x");
    const { kind, spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
    console.log(JSON.stringify({ kind, status: { token: kind + spec.interactive } }))`;
  const plugin = (code: string): ClusterAuth => ({
    kind: "exec",
    command: process.execPath,
    args: ["-e", code],
    env: {},
    apiVersion: "client.authentication.k8s.io/v1",
  });
  const headers: (string | undefined)[] = [];
  const answer: Handler = (request, response) => {
    headers.push(request.headers.authorization);
    json(response, 200, object);
  };
  const { client } = await fixture(t, answer, { auth: plugin(script) });
  await Promise.all([client.get(secrets, ref), client.get(secrets, ref)]);
  await client.get(secrets, ref);
  assert.deepEqual(headers, Array(3).fill("Bearer ExecCredentialfalse"));
  const failing = await fixture(t, answer, { auth: plugin("process.exit(3)") });
  await assert.rejects(failing.client.get(secrets, ref), {
    code: "Auth",
    message: /credentials cannot be obtained/,
  });
});

test("a credential never appears in an error", async (t) => {
  const { client } = await fixture(t, (_request, response) => json(response, 403, { message: "no" }), {
    auth: { kind: "token", token: new Secret("hunter2") },
  });
  await assert.rejects(
    client.get(secrets, ref),
    (error: Error) => !JSON.stringify([error, error.stack]).includes("hunter2"),
  );
});

test("impersonation sends each group as a header of its own", async (t) => {
  let raw: readonly string[] = [];
  const { port } = await fixture(t, (request, response) => {
    raw = request.rawHeaders.filter((text) => !/^(host|accept|user-agent|connection)$/i.test(text));
    json(response, 200, object);
  });
  await using client = createKubeClient({
    name: "as",
    server: `http://127.0.0.1:${port}`,
    auth: { kind: "none" },
    impersonate: { user: "jane", groups: ["a", "b"] },
  });
  await client.get(secrets, ref);
  const sent = raw.join(" ");
  assert.match(sent, /impersonate-user jane/);
  assert.match(sent, /impersonate-group a impersonate-group b/);
});

/** A watch answer whose chunks the test writes itself. */
function watchServer(t: TestContext): Promise<Fixture & { readonly opened: Promise<ServerResponse> }> {
  const opened = Promise.withResolvers<ServerResponse>();
  return fixture(t, (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    opened.resolve(response);
  }).then((parts) => ({ ...parts, opened: opened.promise }));
}

test("a watch that falls silent ends with WatchStalledError", async (t) => {
  const { client } = await watchServer(t);
  await assert.rejects(Array.fromAsync(client.watch(secrets, { idleTimeoutMs: 1000 })), {
    code: "WatchStalled",
  });
});

test("a watch that breaks off is an error; one that the server ends in good order is not", async (t) => {
  const broken = await watchServer(t);
  const events = Array.fromAsync(broken.client.watch(secrets));
  (await broken.opened).write(`${JSON.stringify({ type: "ADDED", object })}\n{"type":`);
  (await broken.opened).destroy();
  await assert.rejects(events, { code: "Reset" });
  const ended = await watchServer(t);
  const all = Array.fromAsync(ended.client.watch(secrets));
  (await ended.opened).end(`${JSON.stringify({ type: "ADDED", object })}\n`);
  assert.deepEqual(await all, [{ type: "ADDED", object }]);
});

test("an ERROR event is thrown as ApiError, 410 among them", async (t) => {
  const { client, opened } = await watchServer(t);
  const events = Array.fromAsync(client.watch(secrets));
  const status = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
  (await opened).write(`${JSON.stringify({ type: "ERROR", object: status })}\n`);
  await assert.rejects(events, (error) => error instanceof ApiError && error.status === 410);
});

test("leaving the loop closes the watch's connection", async (t) => {
  const { client, opened } = await watchServer(t);
  const closed = opened.then(
    (response) => new Promise<void>((resolve) => response.on("close", () => resolve())),
  );
  void opened.then((response) => response.write(`${JSON.stringify({ type: "ADDED", object })}\n`));
  for await (const event of client.watch(secrets)) {
    assert.equal(event.type, "ADDED");
    break;
  }
  await closed;
});

test("requests are counted by host, method and answer", async (t) => {
  const metrics = createMetrics();
  const handler: Handler = (request, response) =>
    json(response, request.method === "GET" ? 200 : 403, object);
  const { client } = await fixture(t, handler, { metrics });
  for (const _ of [1, 2]) {
    await client.get(secrets, ref);
    await assert.rejects(client.create(secrets, object));
  }
  const text = await metrics.text();
  assert.match(text, /^rest_client_requests_total\{code="200",method="GET",host="127\.0\.0\.1:\d+"\} 2$/m);
  assert.match(text, /^rest_client_requests_total\{code="403",method="POST",host="127\.0\.0\.1:\d+"\} 2$/m);
  assert.match(text, /^rest_client_request_duration_seconds_count\{verb="GET",host="127\.0\.0\.1:\d+"\} 2$/m);
  assert.match(text, /^klutch_api_in_flight_limit\{host="127\.0\.0\.1:\d+"\} \d+/m);
  await client[Symbol.asyncDispose]();
  assert.doesNotMatch(await metrics.text(), /^klutch_api_in_flight_limit\{/m);
});

test("a write is of the requested type, whatever the body says of itself", async (t) => {
  const kinds: string[] = [];
  const { client } = await fixture(t, (request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      const { apiVersion, kind } = JSON.parse(text) as { apiVersion?: string; kind?: string };
      kinds.push(`${request.method} ${apiVersion} ${kind}`);
      json(response, 200, object);
    });
  });
  for (const foreign of [
    { apiVersion: "", kind: "" },
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" },
  ]) {
    const body = { ...foreign, metadata: ref };
    await client.create(secrets, body);
    await client.replace(secrets, body);
    await client.replace(secrets, body, { subresource: "status" });
    await client.apply(secrets, body, { fieldManager: "test" });
    await client.mergePatch(secrets, ref, { ...foreign, data: {} });
  }
  const patched = "PATCH undefined undefined";
  const once = ["POST v1 Secret", "PUT v1 Secret", "PUT v1 Secret", "PATCH v1 Secret", patched];
  assert.deepEqual(kinds, [...once, ...once]);
});
