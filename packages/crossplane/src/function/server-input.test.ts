import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ListenError } from "@klutch/kube-runtime";
import { type Logger, silentLogger } from "@klutch/telemetry";
import { FunctionRunnerService } from "../gen/run_function_pb.js";
import { clientAuth, createAuthority, issue, serverAuth } from "../testing/certificates.ts";
import { type FunctionServer, serveFunction } from "./server.ts";
import type { Compose } from "./types.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const folder = await mkdtemp(join(tmpdir(), "klutch-function-input-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const authority = await createAuthority();
const own = await issue(authority, serverAuth);
const crossplane = await issue(authority, clientAuth);
const files = { "tls.crt": own.cert, "tls.key": own.key, "ca.crt": authority.cert };

interface Logged {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

/** A folder with certificates, of which some are replaced or missing. */
async function folderWith(changes: Partial<Record<keyof typeof files, string | undefined>>): Promise<string> {
  const path = await mkdtemp(join(folder, "certificates-"));
  for (const [name, content] of Object.entries({ ...files, ...changes })) {
    if (content !== undefined) await writeFile(join(path, name), content);
  }
  return path;
}

async function serve(
  options: {
    readonly folder?: string;
    readonly port?: number;
    readonly compose?: Compose;
    readonly log?: Logged[];
    readonly drainMs?: number;
  } = {},
): Promise<FunctionServer> {
  const record = (message: string, fields?: Logged["fields"]): void =>
    void options.log?.push({ message, fields });
  const logger: Logger = { ...silentLogger, warn: record, error: record };
  return serveFunction({
    compose: options.compose ?? (() => ({ resources: {} })),
    host: "127.0.0.1",
    port: options.port ?? 0,
    certificatesFolder: options.folder ?? (await folderWith({})),
    logger,
    drainMs: options.drainMs,
  });
}

function clientOf(server: FunctionServer): ReturnType<typeof createClient<typeof FunctionRunnerService>> {
  const transport = createGrpcTransport({
    baseUrl: `https://localhost:${server.port}`,
    nodeOptions: { ...crossplane, rejectUnauthorized: false },
    defaultTimeoutMs: 5_000,
  });
  return createClient(FunctionRunnerService, transport);
}

/** Returns the answer to a raw gRPC request. */
async function send(session: ClientHttp2Session, path: string, body: Buffer): Promise<string> {
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  let status: unknown;
  stream.on("response", (headers) => (status = headers["grpc-status"] ?? headers[":status"]));
  stream.on("trailers", (headers) => (status = headers["grpc-status"] ?? status));
  stream.end(body);
  stream.resume();
  await once(stream, "close");
  return String(status);
}

for (const [what, changes, problem] of [
  ["a missing key", { "tls.key": undefined }, /tls\.key cannot be read/],
  ["a key that is not one", { "tls.key": "not a key" }, /PEM|DECODER|no start line/i],
  ["another's key", { "tls.key": crossplane.key }, /tls\.key is not the key of the certificate in/],
  ["a ca.crt without an authority", { "ca.crt": own.cert }, /ca\.crt has no certificate of an authority/],
  ["an empty ca.crt", { "ca.crt": "" }, /ca\.crt must have certificates in PEM form/],
] as const) {
  test(`it does not start with ${what}`, async () => {
    await assert.rejects(serve({ folder: await folderWith(changes) }), problem);
  });
}

test("a port that is taken is an error and not a server that no one reaches", async () => {
  await using first = await serve();
  await assert.rejects(serve({ port: first.port }), (error) => {
    assert.ok(error instanceof ListenError && error.cause instanceof Error);
    assert.match(error.message, new RegExp(`the function cannot listen on 127\\.0\\.0\\.1:${first.port}: `));
    return "code" in error.cause && error.cause.code === "EADDRINUSE";
  });
});

test("a function that throws answers an internal error without its text, which stands in the log", async () => {
  const log: Logged[] = [];
  let fails = true;
  const compose: Compose = () => {
    if (fails) throw new Error("password is hunter2");
    return { resources: {} };
  };
  await using server = await serve({ compose, log });
  const client = clientOf(server);
  await assert.rejects(client.runFunction({ meta: { tag: "t" } }), (error) => {
    assert.ok(error instanceof ConnectError);
    assert.equal(error.code, Code.Internal);
    assert.doesNotMatch(error.message, /hunter2/);
    return true;
  });
  assert.match(String(log[0]?.fields?.["error"]), /hunter2/);
  fails = false;
  assert.equal((await client.runFunction({ meta: { tag: "t" } })).meta?.tag, "t");
});

const runFunction = `/${FunctionRunnerService.typeName}/RunFunction`;
/** A gRPC frame: flag, length, content. */
const frame = (length: number, content: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, content]);
};
const garbage: readonly (readonly [string, string, Buffer])[] = [
  ["an unknown method", `/${FunctionRunnerService.typeName}/Nonsense`, Buffer.alloc(0)],
  ["another path", "/", Buffer.alloc(0)],
  ["no message", runFunction, Buffer.alloc(0)],
  ["a message that is cut off", runFunction, frame(100, Buffer.from([1, 2, 3]))],
  ["a message that is not protobuf", runFunction, frame(4, Buffer.from([255, 255, 255, 255]))],
  ["a length of four gigabytes", runFunction, frame(0xffff_ffff, Buffer.from([0]))],
];

test("no input makes it answer with success or stop", async () => {
  let composed = 0;
  const compose: Compose = () => {
    composed++;
    return { resources: {} };
  };
  await using server = await serve({ compose });
  for (const [what, path, body] of garbage) {
    const session = connectHttp2(`https://localhost:${server.port}`, {
      ...crossplane,
      rejectUnauthorized: false,
    });
    const status = await send(session, path, body);
    assert.notEqual(status, "0", what);
    assert.notEqual(status, "200", what);
    session.destroy();
  }
  assert.equal(composed, 0);
  assert.equal((await clientOf(server).runFunction({ meta: { tag: "t" } })).meta?.tag, "t");
});

test("who does not speak TLS or not HTTP/2 is turned away, and the reason is logged", async () => {
  const log: Logged[] = [];
  await using server = await serve({ log });
  const plain = connectTcp(server.port, "127.0.0.1");
  plain.on("error", () => undefined);
  plain.write("GET / HTTP/1.1\r\n\r\n");
  await once(plain, "close");
  assert.ok(log.some(({ fields }) => fields?.["error"] instanceof Error));
  const old = connectTls({
    host: "127.0.0.1",
    port: server.port,
    ...crossplane,
    rejectUnauthorized: false,
  });
  old.on("error", () => undefined);
  old.resume();
  await once(old, "close");
  assert.equal(log.at(-1)?.fields?.["reason"], "it does not speak HTTP/2");
});

test("it stops although a client holds a connection on which it says nothing", async () => {
  const server = await serve({ drainMs: 50 });
  const silent = connectTcp(server.port, "127.0.0.1");
  silent.on("error", () => undefined);
  await once(silent, "connect");
  const session = connectHttp2(`https://localhost:${server.port}`, {
    ...crossplane,
    rejectUnauthorized: false,
  });
  session.on("error", () => undefined);
  await once(session, "connect");
  const late = AbortSignal.timeout(20_000);
  const stopped = server[Symbol.asyncDispose]().then(() => "stopped");
  assert.equal(await Promise.race([stopped, once(late, "abort").then(() => "still open")]), "stopped");
  silent.destroy();
  session.destroy();
});
