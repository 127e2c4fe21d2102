/**
 * A server that plays a backup manager and answers as a test says: only a fake produces these faults and lies on demand. It shows nothing
 * about real managers.
 */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createRawServer, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { createServer as createRawTlsServer } from "node:tls";
import { Secret } from "@klutch/telemetry";
import { type BackupManagerClient, createBackupManagerClient, type ObserveCall } from "../client.ts";
import type { BackupManagerConfig } from "../config.ts";

/** The password of every client here; it must not show in any text. */
export const password = "correct-horse";

/** A server and a client that knows where it is. Both end with the test. */
export interface FakeManager {
  readonly client: BackupManagerClient;
  /** Received requests, in order, with complete bodies. */
  readonly requests: readonly Asked[];
  readonly url: string;
}

/** A request as it came in. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Options of a fake. */
export interface FakeOptions extends Partial<BackupManagerConfig> {
  /** PEM; makes the server speak TLS. */
  readonly server?: { readonly cert: string; readonly key: string };
  readonly observe?: ObserveCall;
}

/** Starts it with a client that waits two seconds. */
export async function fakeManager(
  t: TestContext,
  handle: (request: Asked, response: ServerResponse) => void,
  { server: pair, observe, ...config }: FakeOptions = {},
): Promise<FakeManager> {
  const requests: Asked[] = [];
  const listener: RequestListener = (request, response) => {
    void bodyOf(request).then((body) => {
      const asked = { method: request.method ?? "", url: request.url ?? "", headers: request.headers, body };
      requests.push(asked);
      handle(asked, response);
      return undefined;
    });
  };
  const server = pair === undefined ? createServer(listener) : createTlsServer(pair, listener);
  const url = `${pair === undefined ? "http" : "https"}://127.0.0.1:${await listen(server)}`;
  const client = clientOf(url, config, observe);
  t.after(async () => {
    await client[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  return { client, requests, url };
}

/** A manager below HTTP: what it writes on each connection, once something was asked, is up to the test. */
export async function rawManager(
  t: TestContext,
  handle: (socket: Socket, asked: string) => void,
  { server: pair, observe, ...config }: FakeOptions = {},
): Promise<BackupManagerClient> {
  const sockets: Socket[] = [];
  const listener = (socket: Socket): void => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.once("data", (asked) => handle(socket, asked.toString("utf8")));
  };
  const server = pair === undefined ? createRawServer(listener) : createRawTlsServer(pair, listener);
  const url = `${pair === undefined ? "http" : "https"}://127.0.0.1:${await listen(server)}`;
  const client = clientOf(url, config, observe);
  t.after(async () => {
    await client[Symbol.asyncDispose]();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return client;
}

/** Answers everything alike. */
export const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  (_request: Asked, response: ServerResponse): void => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };

/** Answers everything with these bytes. */
export const raw =
  (status: number, contentType: string, body: string | Uint8Array) =>
  (_request: Asked, response: ServerResponse): void => {
    response.writeHead(status, contentType === "" ? {} : { "content-type": contentType }).end(body);
  };

function clientOf(
  url: string,
  config: Partial<BackupManagerConfig>,
  observe?: ObserveCall,
): BackupManagerClient {
  const credentials = { username: "klutch", password: new Secret(password) };
  return createBackupManagerClient({ url, credentials, timeoutMs: 2_000, ...config }, observe);
}

async function listen(server: Server): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (chunk instanceof Buffer) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
