/** The memory broker behind HTTP, and a run of the checks against it in virtual time. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import type { PollClock } from "@klutch/osb/internal";
import { type CheckOptions, type CheckResult, checkBroker } from "../run.ts";
import type { Alter } from "./breaks.ts";
import {
  credentials,
  type FakeAnswer,
  fakeRequest,
  MemoryBroker,
  type MemoryBrokerOptions,
} from "./memory-broker.ts";

export interface FakeServerOptions extends Omit<MemoryBrokerOptions, "asynchronous"> {
  readonly asynchronous?: boolean | undefined;
  readonly alter?: Alter | undefined;
  /** Tells whether the request of this number, from 1, is answered with 429 and does nothing. */
  readonly limit?: (count: number) => boolean;
  /** Takes over the raw answer to the request of this number, from 1; false leaves it to the broker. */
  readonly seize?: (response: ServerResponse, count: number, request: IncomingMessage) => boolean;
}

/** A server that ends with its test. */
export interface FakeServer {
  readonly url: string;
  readonly memory: MemoryBroker;
}

export async function startFakeServer(t: TestContext, options: FakeServerOptions = {}): Promise<FakeServer> {
  const memory = new MemoryBroker({ ...options, asynchronous: options.asynchronous ?? true });
  const {
    alter = (answer: FakeAnswer): FakeAnswer => answer,
    seize = () => false,
    limit = () => false,
  } = options;
  let count = 0;
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      count++;
      if (limit(count)) {
        const identity = String(request.headers["x-broker-api-request-identity"]);
        response.writeHead(429, { "retry-after": "1", "x-broker-api-request-identity": identity }).end();
        return;
      }
      const headers: Record<string, string> = {};
      for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
      const asked = fakeRequest(request.method ?? "", request.url ?? "", headers, body);
      const answer = alter(memory.answer(asked), asked, memory);
      if (seize(response, count, request)) return;
      response.writeHead(answer.status, { ...answer.headers });
      response.end(answer.status === 204 ? undefined : JSON.stringify(answer.body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return { url: `http://127.0.0.1:${address.port}`, memory };
}

/** Waiting takes no time. */
export function virtualClock(): PollClock {
  let time = 0;
  return {
    now: () => time,
    sleep: (ms, signal) => {
      signal?.throwIfAborted();
      time += ms;
      return Promise.resolve();
    },
  };
}

/** Runs all checks. */
export function runChecks(
  url: string,
  more: Partial<CheckOptions> & {
    readonly signal?: AbortSignal;
    readonly hurry?: AbortSignal;
  } = {},
): Promise<CheckResult> {
  const { signal = new AbortController().signal, hurry = new AbortController().signal, ...options } = more;
  return checkBroker(
    {
      url,
      auth: { kind: "basic", ...credentials },
      tls: undefined,
      timeoutMs: 20_000,
      cleanupMs: 600_000,
      choice: {},
      wishes: { organizationGuid: "o", spaceGuid: "s", parameters: undefined, bindParameters: undefined },
      ...options,
    },
    { clock: virtualClock(), newId: randomUUID, signal, hurry, tell: () => undefined },
  );
}
