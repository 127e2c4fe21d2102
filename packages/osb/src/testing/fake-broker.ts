/** A server that answers as a test says: only a fake produces these faults on demand. The real broker is sandbox/broker. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { TestContext } from "node:test";
import { createOsbClient, type OsbClient } from "../client.ts";
import type { BrokerConfig } from "../transport.ts";

/** Starts it, with a client that waits longer than a busy machine needs; both end with the test. */
export async function broker(
  t: TestContext,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  config: Partial<BrokerConfig> = {},
): Promise<{ client: OsbClient; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handle(request, response);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  const client = createOsbClient({
    url: `http://127.0.0.1:${address.port}/`,
    auth: { kind: "basic", username: "u", password: "p" },
    timeoutMs: 20_000,
    ...config,
  });
  t.after(async () => {
    await client[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  return { client, requests };
}

/** Answers everything alike. */
export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
