/**
 * A proxy between a client and a real API server that breaks watches in the ways networks and servers do: this is the permitted fake,
 * because the real server will not produce these faults on demand. Everything else passes through untouched. It answers with the
 * server's own certificate, so the client verifies it as usual.
 */
import { readFile } from "node:fs/promises";
import { type IncomingMessage, request as forward, type ServerResponse } from "node:http";
import { createServer, request as forwardTls } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterConfig } from "@klutch/kube";
import type { TestCluster } from "./cluster.ts";
import { seededRandom } from "./model/faults.ts";

/** Causes faults of watches on demand. */
export interface FaultProxy extends AsyncDisposable {
  /** The administrator's configuration, by way of the proxy. */
  readonly config: ClusterConfig;
  /** Watches that were answered so far. */
  readonly watches: number;
  /** Requests so far, as `VERB path` without the query. */
  readonly requests: readonly string[];
  /** Bearer tokens that came so far. */
  readonly tokens: ReadonlySet<string>;
  /** Breaks the connection of every open watch without a farewell. */
  drop(): void;
  /** While on, nothing of any watch gets through, and no connection closes. */
  blackHole(isOn: boolean): void;
  /** Delays every piece of a watch by this time. 0 ends it. */
  delay(delayMs: number): void;
  /** The next piece of a watch is cut in the middle and its connection broken. */
  truncate(): void;
  /** Answers the next `count` watch requests itself. 410 comes as an ERROR event inside a 200, as real servers send it. */
  answer(status: 410 | 429 | 500 | 503, count: number): void;
  /** While on, half of all requests of any kind are answered with 429, chosen by a fixed seed. */
  throttle(isOn: boolean): void;
  /** Requests that were answered so. */
  readonly throttled: number;
}

interface Faults {
  delayMs: number;
  isBlack: boolean;
  cutNext: boolean;
  throttles: boolean;
  readonly answers: number[];
}

/** Starts the proxy in front of the cluster's API server. */
export async function startFaultProxy(cluster: TestCluster): Promise<FaultProxy> {
  const read = (name: string): Promise<string> => readFile(join(cluster.dataDir, "certs", name), "utf8");
  const [cert, key] = await Promise.all([read("apiserver.crt"), read("apiserver.key")]);
  const faults: Faults = { delayMs: 0, isBlack: false, cutNext: false, throttles: false, answers: [] };
  const open = new Set<ServerResponse>();
  const state = { watches: 0, throttled: 0 };
  const random = seededRandom(1);
  const requests: string[] = [];
  const tokens = new Set<string>();
  const server = createServer({ cert, key }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "https://proxy");
    requests.push(`${request.method} ${pathname}`);
    const { authorization } = request.headers;
    if (authorization !== undefined) tokens.add(authorization.replace(/^Bearer /, ""));
    const isWatch = searchParams.get("watch") === "true";
    const status = isWatch ? faults.answers.shift() : undefined;
    if (isWatch) state.watches++;
    if (faults.throttles && random() < 0.5) {
      state.throttled++;
      // The body has to be read before the connection serves another request.
      request.resume();
      answerFault(response, 429);
    } else if (status !== undefined) answerFault(response, status);
    else pass(cluster.config, request, response, isWatch ? { faults, open } : undefined);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    config: { ...cluster.config, server: `https://127.0.0.1:${port}`, http2: false },
    requests,
    tokens,
    get watches() {
      return state.watches;
    },
    throttle: (isOn) => void (faults.throttles = isOn),
    get throttled() {
      return state.throttled;
    },
    drop: () => open.forEach((response) => response.socket?.destroy()),
    blackHole: (isOn) => void (faults.isBlack = isOn),
    delay: (delayMs) => void (faults.delayMs = delayMs),
    truncate: () => void (faults.cutNext = true),
    answer: (status, count) => void faults.answers.push(...Array.from({ length: count }, () => status)),
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

function answerFault(response: ServerResponse, code: number): void {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    reason: code === 410 ? "Expired" : "Fault",
    message: "put in by the fault proxy",
    code,
  };
  if (code === 410) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(`${JSON.stringify({ type: "ERROR", object: status })}\n`);
    return;
  }
  response.writeHead(code, {
    "content-type": "application/json",
    ...(code === 429 ? { "retry-after": "1" } : {}),
  });
  response.end(JSON.stringify(status));
}

function pass(
  config: ClusterConfig,
  request: IncomingMessage,
  response: ServerResponse,
  watch: { readonly faults: Faults; readonly open: Set<ServerResponse> } | undefined,
): void {
  const url = new URL(request.url ?? "/", config.server);
  const options = { method: request.method, headers: { ...request.headers, host: url.host }, ca: config.ca };
  const send = url.protocol === "https:" ? forwardTls : forward;
  const upstream = send(url, options, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    // A client must see that the watch is open before the first event.
    response.flushHeaders();
    if (watch === undefined) answer.pipe(response);
    else void passWatch(answer, response, watch.faults, watch.open);
  });
  upstream.on("error", () => response.destroy());
  response.on("close", () => upstream.destroy());
  request.pipe(upstream);
}

async function passWatch(
  answer: IncomingMessage,
  response: ServerResponse,
  faults: Faults,
  open: Set<ServerResponse>,
): Promise<void> {
  open.add(response);
  try {
    for await (const chunk of answer) {
      if (!(chunk instanceof Uint8Array)) continue;
      if (faults.delayMs > 0) await sleep(faults.delayMs);
      while (faults.isBlack && !response.destroyed) await sleep(20);
      if (faults.cutNext) {
        faults.cutNext = false;
        response.write(chunk.subarray(0, Math.ceil(chunk.length / 2)));
        await sleep(20);
        response.socket?.destroy();
        return;
      }
      response.write(chunk);
    }
    response.end();
  } catch {
    response.destroy();
  } finally {
    open.delete(response);
  }
}
