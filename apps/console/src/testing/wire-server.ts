/** Serves the pages and the wire from rows that a test makes, under the policy of the backend. The backend's own server is tested with the real one. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { json as bodyOf } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import {
  type Change,
  type Collection,
  collections,
  type ConsoleError,
  type OfferedAction,
  type Viewer,
} from "@klutch/overview/console-wire";
import type { AllRows } from "./rows.ts";

const viewer: Viewer = {
  name: "ann@example.com",
  seesAll: true,
  tenants: [],
  collections,
  sessionEndsAt: "2026-11-28T20:00:00Z",
  provider: "Klutch at Example",
};
const types: Readonly<Record<string, string>> = { ".js": "text/javascript", ".css": "text/css" };

export interface WireServer extends AsyncDisposable {
  readonly url: string;
  /** Changes what it serves from now on. */
  rows: AllRows;
  viewer: Viewer;
  /** Answer to `explain`, or undefined for a 404. */
  explanation: unknown;
  /** Actions of every row of a collection that the viewer's `actions` name. */
  offered: readonly OfferedAction[];
  /** Confirmations that were sent, with their paths. */
  readonly confirmed: { readonly path: string; readonly body: unknown }[];
  /** Answer to the next confirmations: words of a refusal with 409, or undefined for success. */
  refusal: ConsoleError | undefined;
  /** Without a session, everything is answered with 401. */
  hasSession: boolean;
  /** Collections whose rows are answered with an error. */
  readonly failing: Set<Collection>;
  /** Milliseconds before rows are answered. */
  delayMs: number;
  /** Sends an event to all open pages. */
  send(event: string, data: unknown): void;
  change(change: Change): void;
  /** Refuses connections until `back`. */
  away(): void;
  back(): void;
}

export async function startWireServer(folder: string, rows: AllRows): Promise<WireServer> {
  const streams = new Set<ServerResponse>();
  let isAway = false;
  const packed = new Map<Collection, { readonly rows: unknown; readonly body: Buffer }>();
  const server = createServer((request, response) => {
    if (isAway) {
      request.socket.destroy();
      return;
    }
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    if (request.method === "POST" && path.startsWith("/console/actions/")) {
      void bodyOf(request).then((body) => {
        self.confirmed.push({ path, body });
        if (self.refusal === undefined) json(response, 200, { message: "Done: it is revoked." });
        else json(response, 409, self.refusal);
      });
      return;
    }
    void answer(path, response);
  });
  const json = (response: ServerResponse, status: number, value: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  };
  const answer = async (path: string, response: ServerResponse): Promise<void> => {
    if (path.startsWith("/console/assets/")) {
      const file = join(folder, "assets", path.slice("/console/assets/".length));
      response.setHeader("content-type", types[extname(file)] ?? "text/plain");
      response.setHeader("cache-control", "public, max-age=31536000, immutable");
      response.setHeader("content-encoding", "gzip");
      response.end(gzipSync(await readFile(file)));
      return;
    }
    if (path === "/console/logout") {
      self.hasSession = false;
      json(response, 200, {});
      return;
    }
    if (path === "/console/login") {
      response.writeHead(302, { location: "/console/" }).end();
      return;
    }
    if (!path.startsWith("/console/api/")) {
      const nonce = randomBytes(16).toString("base64");
      const page = await readFile(join(folder, "index.html"), "utf8");
      response.writeHead(200, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; connect-src 'self'; img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'`,
      });
      response.end(page.replaceAll("__CSP_NONCE__", nonce));
      return;
    }
    if (!self.hasSession) {
      json(response, 401, { error: "You are not logged in.", advice: "Log in to see your app clusters." });
      return;
    }
    const word = path.slice("/console/api/".length);
    if (word === "viewer") json(response, 200, self.viewer);
    else if (word === "actions") json(response, 200, { actions: self.offered });
    else if (word === "explain") {
      if (self.explanation === undefined)
        json(response, 404, { error: "There is no such claim.", advice: "It may be gone by now." });
      else json(response, 200, self.explanation);
    } else if (word === "changes") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: viewer\ndata: ${JSON.stringify(self.viewer)}\n\n`);
      streams.add(response);
      response.on("close", () => streams.delete(response));
    } else await sendRows(word, response);
  };
  const sendRows = async (word: string, response: ServerResponse): Promise<void> => {
    const collection = collections.find((name) => word === `rows/${name}`);
    if (collection === undefined || self.failing.has(collection)) {
      const error = "The API server of the control plane does not answer.";
      json(response, 503, { error, advice: "Try again in a minute." });
      return;
    }
    if (self.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, self.delayMs));
    const wanted = self.rows[collection];
    let known = packed.get(collection);
    if (known?.rows !== wanted) {
      known = { rows: wanted, body: gzipSync(JSON.stringify({ collection, rows: wanted })) };
      packed.set(collection, known);
    }
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
    response.end(known.body);
  };
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const self: WireServer = {
    url: `http://127.0.0.1:${port}`,
    rows,
    viewer,
    explanation: undefined,
    offered: [],
    confirmed: [],
    refusal: undefined,
    hasSession: true,
    failing: new Set(),
    delayMs: 0,
    send(event, data) {
      for (const stream of streams) stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    change: (change) => self.send("change", change),
    away() {
      isAway = true;
      server.closeAllConnections();
    },
    back() {
      isAway = false;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await Promise.resolve();
    },
  };
  return self;
}
