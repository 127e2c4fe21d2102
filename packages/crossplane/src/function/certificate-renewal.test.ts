import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect } from "node:tls";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { systemClock } from "@klutch/kube";
import { VirtualClock, waitFor, writeSecretVolume } from "@klutch/kube-testing";
import { type Logger, silentLogger } from "@klutch/telemetry";
import { FunctionRunnerService } from "../gen/run_function_pb.js";
import {
  type Authority,
  clientAuth,
  createAuthority,
  issue,
  type Pair,
  serverAuth,
} from "../testing/certificates.ts";
import { serveFunction } from "./server.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = await mkdtemp(join(tmpdir(), "klutch-function-renewal-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));

async function filesOf(authority: Authority): Promise<Readonly<Record<string, string>>> {
  const { cert, key } = await issue(authority, serverAuth);
  return { "tls.crt": cert, "tls.key": key, "ca.crt": authority.cert };
}

const [first, second] = [await createAuthority(), await createAuthority()];
await writeSecretVolume(folder, await filesOf(first));
// Certificates are valid around the machine's own time.
const clock = new VirtualClock({ startMs: systemClock.now() });
const warnings: string[] = [];
const logger: Logger = {
  ...silentLogger,
  warn: (message, fields) => void warnings.push(`${message}: ${String(fields?.["reason"])}`),
};
const server = stack.use(
  await serveFunction({
    compose: () => ({ resources: {} }),
    host: "127.0.0.1",
    port: 0,
    certificatesFolder: folder,
    logger,
    clock,
  }),
);

/** Calls over a new connection. */
async function call(client: Pair): Promise<void> {
  const transport = createGrpcTransport({
    baseUrl: `https://localhost:${server.port}`,
    nodeOptions: { ...client, rejectUnauthorized: false },
    defaultTimeoutMs: 5_000,
  });
  await createClient(FunctionRunnerService, transport).runFunction({});
}

/** Certificate that the server presents, in DER. */
async function shown(): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false }, () => {
    resolve(socket.getPeerCertificate().raw.toString("base64"));
    socket.destroy();
  });
  socket.on("error", reject);
  return promise;
}

test("renewed certificates and another authority count for connections that begin later; an authority that is none does not", async () => {
  const [old, young] = [await issue(first, clientAuth), await issue(second, clientAuth)];
  await call(old);
  await assert.rejects(call(young));
  const before = await shown();

  const renewed = await filesOf(second);
  await writeSecretVolume(folder, { ...renewed, "ca.crt": young.cert });
  await clock.advance(10_000);
  await waitFor("the warning", () =>
    warnings.find((line) => line.includes("no certificate of an authority")),
  );
  assert.equal(await shown(), before);
  await call(old);

  await writeSecretVolume(folder, renewed);
  await waitFor("the next look", () => clock.nextDueAt !== undefined);
  await clock.advance(10_000);
  await waitFor("the renewed certificate", async () => (await shown()) !== before);
  await call(young);
  await assert.rejects(call(old));
  assert.match(warnings.at(-1) ?? "", /not signed by a key of ca\.crt/);
});
