import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { documentedMetrics, metricNames } from "@klutch/kube-testing";
import { createMetrics, type Logger, silentLogger } from "@klutch/telemetry";
import { FunctionRunnerService } from "../gen/run_function_pb.js";
import {
  clientAuth,
  createAuthority,
  createSelfSigned,
  issue,
  type Pair,
  serverAuth,
} from "../testing/certificates.ts";
import { serveFunction } from "./server.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = await mkdtemp(join(tmpdir(), "klutch-function-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const authority = await createAuthority();
const own = await issue(authority, serverAuth);
await writeFile(join(folder, "tls.crt"), own.cert);
await writeFile(join(folder, "tls.key"), own.key);
await writeFile(join(folder, "ca.crt"), authority.cert);
const metrics = createMetrics();
let composed = 0;
const reasons: unknown[] = [];
const logger: Logger = {
  ...silentLogger,
  warn: (_message, fields) => void reasons.push(fields?.["reason"]),
};
const server = stack.use(
  await serveFunction({
    compose: () => {
      composed++;
      return { resources: {} };
    },
    host: "127.0.0.1",
    port: 0,
    certificatesFolder: folder,
    logger,
    metrics,
  }),
);
const baseUrl = `https://localhost:${server.port}`;

/** Calls as Crossplane does; what this client thinks of the server's certificate is not the matter here. */
async function call(client: Pair | undefined): Promise<string | undefined> {
  const transport = createGrpcTransport({
    baseUrl,
    nodeOptions: { ...client, rejectUnauthorized: false },
    defaultTimeoutMs: 5_000,
  });
  const answer = await createClient(FunctionRunnerService, transport).runFunction({ meta: { tag: "t" } });
  return answer.meta?.tag;
}

const good = await issue(authority, clientAuth);
const stranger = await createAuthority();
const notSigned = /not signed by a key of ca\.crt/;
const refused: readonly (readonly [string, Pair | undefined, RegExp])[] = [
  ["of another authority with the same name", await issue(stranger, clientAuth), notSigned],
  ["that expired", await issue(authority, clientAuth, { from: -20, until: -10 }), /valid from .* only/],
  [
    "that is not valid yet",
    await issue(authority, clientAuth, { from: 10, until: 20 }),
    /valid from .* only/,
  ],
  ["for servers only", await issue(authority, serverAuth), /not for TLS clients/],
  ["without any usage", await issue(authority, undefined), /not for TLS clients/],
  ["that is self-signed with the same name", await createSelfSigned(), notSigned],
  ["that is another authority's own", stranger, /that of an authority/],
  ["that is the authority's own, which is for signing", authority, /that of an authority/],
  ["of any kind: there is none", undefined, /sent no certificate/],
];

test("Crossplane's own client certificate is accepted, although it has the name and number of its authority", async () => {
  assert.equal(await call(good), "t");
  assert.deepEqual(reasons, []);
});

for (const [what, pair, reason] of refused) {
  test(`a client is refused with a certificate ${what}`, async () => {
    const before = composed;
    await assert.rejects(call(pair));
    assert.equal(composed, before);
    assert.match(String(reasons.at(-1)), reason);
    reasons.length = 0;
  });
}

test("a refused connection is closed before its first request", async () => {
  const session = connect(baseUrl, { rejectUnauthorized: false });
  const { promise, resolve } = Promise.withResolvers<void>();
  session.on("error", () => undefined);
  session.on("close", () => resolve());
  const stream = session.request({ ":method": "POST", ":path": "/" });
  let answered = false;
  stream.on("response", () => (answered = true));
  stream.on("error", () => undefined);
  await promise;
  assert.equal(answered, false);
  assert.equal(reasons.at(-1), "it sent no certificate");
});

test("who is refused does not disturb who is not", async () => {
  assert.equal(await call(good), "t");
});

test("calls are counted, with the metrics of the catalogue", async () => {
  await call(good);
  const text = await metrics.text();
  const labels =
    'grpc_type="unary",grpc_service="apiextensions.fn.proto.v1.FunctionRunnerService",grpc_method="RunFunction"';
  assert.match(text, new RegExp(`^grpc_server_handled_total\\{${labels},grpc_code="OK"\\} [1-9]`, "m"));
  assert.match(text, new RegExp(`^grpc_server_handling_seconds_count\\{${labels}\\} [1-9]`, "m"));
  assert.deepEqual(metricNames(text), documentedMetrics("function-klutch"));
});
