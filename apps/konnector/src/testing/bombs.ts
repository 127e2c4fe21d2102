/** A provider that answers lists and watches with bombs: a real API server does not send those, so this one does. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import type { TestCluster } from "@klutch/kube-testing";

/** Namespace of the tenant that meets the bombs. */
export const bombedTenant = "cluster-evil";
const mebibyte = 1024 * 1024;

type Answer = (response: ServerResponse) => void;
/** Answers to lists, and to watches. */
export interface Bomb {
  readonly list: Answer;
  readonly watch: Answer;
}

let sent = 0;
let pages = 0;

const begin = '{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[';
const listOf = (items: string): Answer => {
  const body = Buffer.from(`${begin}${items}]}`);
  return (response) => response.writeHead(200, { "content-type": "application/json" }).end(body);
};
const empty = listOf("");
const silent: Answer = (response) => response.writeHead(200).flushHeaders();
/** The list of before is too old, so the agent lists again. */
const gone: Answer = (response) =>
  response.writeHead(200).end('{"type":"ERROR","object":{"kind":"Status","code":410}}\n');
const lineOf = (object: string): Answer => {
  const line = Buffer.from(`{"type":"ADDED","object":${object}}\n`);
  return (response) => {
    response.writeHead(200).write(line);
    const timer = setInterval(() => {
      sent++;
      response.write(line);
    }, 500);
    response.on("close", () => clearInterval(timer));
  };
};
const objectWith = (status: string): string =>
  `{"metadata":{"name":"a","namespace":"${bombedTenant}","uid":"u","resourceVersion":"6"},"status":${status}}`;
const wide = (length: number): string => `[${"[],".repeat(length / 3)}[]]`;
const deep = (length: number): string => "[".repeat(length / 2) + "]".repeat(length / 2);
const endless: Answer = (response) =>
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(`{"kind":"List","metadata":{"resourceVersion":"5","continue":"${++pages}"},"items":[]}`);

const heavy = Buffer.from(`[${"{},".repeat(125_000)}{}]}]}`);
/** Sixty objects, each of which may be read. */
const many: Answer = (response) => {
  const page = ++pages % 60;
  const token = page === 0 ? "" : String(page);
  const metadata = `{"name":"n${page}","namespace":"${bombedTenant}","uid":"${page}","resourceVersion":"6"}`;
  response.writeHead(200, { "content-type": "application/json" });
  response.write(`{"kind":"List","metadata":{"resourceVersion":"5","continue":"${token}"},"items":[`);
  response.write(`{"metadata":${metadata},"spec":`);
  response.end(heavy);
};

/** Answers as they should be, with nothing in them. */
export const noBomb: Bomb = { list: empty, watch: silent };
/** Each page of a list names one more. */
export const endlessList: Bomb = { list: endless, watch: gone };
/** One bomb for each limit. */
export const bombs: Readonly<Record<string, Bomb>> = {
  "pages of 60 MB with millions of lists": { list: listOf(objectWith(wide(60_000_000))), watch: gone },
  "pages within the limit nested as deep": { list: listOf(objectWith(deep(7.9 * mebibyte))), watch: gone },
  "watch lines within the limit with many lists": {
    list: empty,
    watch: lineOf(objectWith(wide(2.9 * mebibyte))),
  },
  "lists without an end": endlessList,
  "lists of many objects that are each within the limit": { list: many, watch: gone },
};
/** The same limits met in other ways. */
export const otherBombs: Readonly<Record<string, Bomb>> = {
  "pages within the limit with millions of lists": {
    list: listOf(objectWith(wide(7.9 * mebibyte))),
    watch: gone,
  },
  "pages of 60 MB nested as deep as that": { list: listOf(objectWith(deep(60_000_000))), watch: gone },
  "watch lines of 15 MB nested as deep": { list: empty, watch: lineOf(objectWith(deep(15_000_000))) },
  "watch lines within the limit nested as deep": {
    list: empty,
    watch: lineOf(objectWith(deep(2.9 * mebibyte))),
  },
};

/** The provider with its present bomb. */
export interface BombServer extends Disposable {
  readonly url: string;
  /** Answers that were bombs, so far. */
  readonly sent: number;
  /** Sends this one from now on; new connections meet it at once. */
  arm(bomb: Bomb): void;
}

/** Starts it with the certificate of the honest provider. */
export async function startBombServer({ dataDir }: TestCluster): Promise<BombServer> {
  const [cert, key] = await Promise.all(
    ["crt", "key"].map((end) => readFile(join(dataDir, "certs", `apiserver.${end}`))),
  );
  let bomb = noBomb;
  const server = createServer({ cert, key }, ({ url = "" }, response) => {
    const isNamespace = url.endsWith(`/namespaces/${bombedTenant}`);
    if (isNamespace)
      response.end(JSON.stringify({ kind: "Namespace", metadata: { name: bombedTenant, uid: "evil" } }));
    else if (url.includes("kube-system")) response.writeHead(403).end('{"kind":"Status","code":403}');
    else {
      sent++;
      (url.includes("watch=true") ? bomb.watch : bomb.list)(response);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `https://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    get sent() {
      return sent;
    },
    arm: (next) => {
      bomb = next;
      server.closeAllConnections();
    },
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
