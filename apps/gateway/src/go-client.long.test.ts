/** Requests to the letter as client-go sends them for the informers of a konnector in Go, put to the gateway and to the API server: both answer alike. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { type ClusterConfig, systemClock } from "@klutch/kube";
import { isRecord, numberAt, recordAt, textAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { tokenOf } from "./testing/raw.ts";
import {
  clientOf,
  type RunningGateway,
  type Stage,
  startGateway,
  startStage,
  untilShared,
  widget,
  widgets,
} from "./testing/stage.ts";

const path = "/apis/shop.example.com/v1/namespaces/red/widgets";
let stage: Stage;
let gateway: RunningGateway;
let red: ClusterConfig;
let sessions: { readonly ours: ClientHttp2Session; readonly theirs: ClientHttp2Session };
const stack = new AsyncDisposableStack();

before(async () => {
  stage = stack.use(await startStage());
  red = await stage.tenant("red");
  gateway = stack.use(await startGateway(stage));
  const open = (url: string): ClientHttp2Session => {
    const session = connect(url, { ca: red.ca ?? "" });
    session.on("error", () => undefined);
    stack.defer(() => session.destroy());
    return session;
  };
  sessions = { ours: open(gateway.url), theirs: open(red.server) };
  for (const name of ["a", "b", "c"])
    await stage.cluster.client.create(widgets, widget("red", name, { text: "x".repeat(100_000) }));
  await using client = clientOf(red, gateway);
  await untilShared(gateway, client, "red");
  await waitFor("the cache to see them", async () => {
    const { items } = await client.list(widgets, { namespace: "red", resourceVersion: "0" });
    return items.length === 3;
  });
});
after(() => stack.disposeAsync());

interface Answered {
  readonly status: number;
  readonly type: string | undefined;
  readonly text: string;
}

/** Sends one request with the headers of Go's transport. */
async function ask(
  session: ClientHttp2Session,
  target: string,
  accept = "application/json",
): Promise<Answered> {
  const stream = session.request({
    ":path": target,
    accept,
    authorization: tokenOf(red),
    "user-agent": "konnector/v1.5.0 (linux/amd64) kubernetes/$Format",
    "accept-encoding": "gzip",
  });
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status"?: number }];
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const isPacked = headers["content-encoding"] === "gzip";
  const text = (isPacked ? gunzipSync(bytes) : bytes).toString();
  return { status: headers[":status"] ?? 0, type: headers["content-type"], text };
}

/** Asks both at the same moment. */
async function askBoth(
  target: string,
  accept?: string,
): Promise<{ readonly ours: Answered; readonly theirs: Answered }> {
  const [ours, theirs] = await Promise.all([
    ask(sessions.ours, target, accept),
    ask(sessions.theirs, target, accept),
  ]);
  return { ours, theirs };
}

/** An answer without the versions and times that two moments have. */
function settled({ status, type, text }: Answered): unknown {
  const body: unknown = JSON.parse(text);
  const metadata = { ...recordAt(body, "metadata"), resourceVersion: undefined, continue: undefined };
  return { status, type, body: isRecord(body) ? { ...body, metadata } : body };
}

/** Number of requests of a kind that the gateway answered itself. */
const answered = async (): Promise<number> => gateway.read("klutch_gateway_lists_total");

for (const [name, query, isOwn] of [
  ["the first list of a reflector", "limit=500&resourceVersion=0", true],
  [
    "a list that may not be older than the last one",
    "resourceVersion=1&resourceVersionMatch=NotOlderThan",
    true,
  ],
  ["the list after 410", "limit=500", false],
  ["a list of the latest version", "limit=500&resourceVersion=", false],
  ["a list from a version in pages", "limit=2&resourceVersion=1", false],
] as const)
  test(`${name} has the same answer, ${isOwn ? "out of the cache" : "from the API server"}`, async () => {
    const before = await answered();
    const { ours, theirs } = await askBoth(`${path}?${query}`);
    assert.deepEqual(settled(ours), settled(theirs));
    assert.equal(theirs.status, 200);
    assert.equal((await answered()) - before, isOwn ? 1 : 0);
  });

test("pages follow each other by the API server's own continue tokens", async () => {
  const names = async (session: ClientHttp2Session): Promise<readonly string[]> => {
    const seen: string[] = [];
    let token = "";
    do {
      const more = token === "" ? "" : `&continue=${encodeURIComponent(token)}`;
      const { status, text } = await ask(session, `${path}?limit=2${more}`);
      assert.equal(status, 200);
      const list: unknown = JSON.parse(text);
      for (const [, name] of text.matchAll(/"name":"([abc])"/g)) seen.push(name ?? "");
      token = textAt(list, "metadata", "continue") ?? "";
    } while (token !== "");
    return seen;
  };
  assert.deepEqual(await names(sessions.ours), ["a", "b", "c"]);
  assert.deepEqual(await names(sessions.theirs), ["a", "b", "c"]);
});

for (const accept of [
  "application/vnd.kubernetes.protobuf,application/json",
  "application/vnd.kubernetes.protobuf",
  "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
  "application/json;q=0.9,application/cbor;q=1",
  "application/yaml",
  "text/plain",
])
  test(`a client that accepts ${accept} is answered as by the API server`, async () => {
    const before = await answered();
    const { ours, theirs } = await askBoth(`${path}?limit=500&resourceVersion=0`, accept);
    assert.deepEqual([ours.status, ours.type], [theirs.status, theirs.type]);
    if (theirs.type === "application/json") {
      // A table shows ages, which go on between two answers.
      const withoutAges = (text: string): string => text.replace(/"\d+m?s?"/g, '""');
      assert.equal(withoutAges(ours.text), withoutAges(theirs.text));
    } else assert.equal(ours.text.length, theirs.text.length);
    assert.equal(await answered(), before, "other forms are the API server's to write");
  });

function rowsOf({ text }: Answered): readonly unknown[] {
  const rows = text.split("\n").filter((row) => row !== "");
  return rows.map((row): unknown => JSON.parse(row));
}

/** Lines of a watch, with versions of bookmarks left out. */
function linesOf(answered: Answered): {
  readonly changes: readonly unknown[];
  readonly bookmarks: readonly unknown[];
} {
  const rows = rowsOf(answered);
  const isBookmark = (row: unknown): boolean => textAt(row, "type") === "BOOKMARK";
  const forms = rows
    .filter(isBookmark)
    .map((row): unknown =>
      JSON.parse(JSON.stringify(row).replace(/"resourceVersion":"\d+"/, '"resourceVersion":""')),
    );
  return { changes: rows.filter((row) => !isBookmark(row)), bookmarks: forms };
}

const seconds = 6;
for (const [name, query] of [
  ["a watch of a reflector", "allowWatchBookmarks=true&resourceVersion=VERSION&timeoutSeconds=6&watch=true"],
  [
    "a watch of a typed client",
    "allowWatchBookmarks=true&resourceVersion=VERSION&timeout=6s&timeoutSeconds=6&watch=true",
  ],
  ["a watch without bookmarks", "resourceVersion=VERSION&timeoutSeconds=6&watch=true"],
] as const)
  test(`${name} shows the same lines in the same order, the same form of bookmarks, and ends in time`, async () => {
    const { client } = stage.cluster;
    const { text } = await ask(sessions.theirs, path);
    const version = textAt(JSON.parse(text), "metadata", "resourceVersion") ?? "";
    const passed = (): Promise<number> =>
      gateway.read('klutch_gateway_passed_requests_total{reason="parameters"}');
    const before = await passed();
    const startedMs = performance.now();
    const asked = askBoth(`${path}?${query.replace("VERSION", version)}`);
    const ref = { namespace: "red", name: "passing" };
    await client.create(widgets, widget("red", "passing", { number: 1 }));
    await client.mergePatch(widgets, ref, { spec: { number: 2 } });
    await client.delete(widgets, ref);
    const { ours, theirs } = await asked;
    const lastedMs = performance.now() - startedMs;
    assert.ok(lastedMs > (seconds - 1) * 1000 && lastedMs < (seconds + 10) * 1000, `${lastedMs} ms`);
    assert.deepEqual([ours.status, ours.type], [theirs.status, theirs.type]);
    assert.equal(await passed(), before, "the gateway answers each of them itself");
    const [left, right] = [linesOf(ours), linesOf(theirs)];
    assert.ok(right.changes.length >= 3);
    assert.deepEqual(left.changes, right.changes);
    const formsOf = (bookmarks: readonly unknown[]): ReadonlySet<string> =>
      new Set(bookmarks.map((one) => JSON.stringify(one)));
    assert.deepEqual([...formsOf(left.bookmarks)], [...formsOf(right.bookmarks)]);
  });

test("the streaming list of client-go 0.35 begins with the same objects and the same mark, and goes on as a watch", async () => {
  const query =
    "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=6&watch=true";
  const passed = (): Promise<number> =>
    gateway.read('klutch_gateway_passed_requests_total{reason="parameters"}');
  const before = await passed();
  const asked = askBoth(`${path}?${query}`);
  // Both have long sent what there was.
  await systemClock.sleep(3_000);
  const ref = { namespace: "red", name: "later" };
  await stage.cluster.client.create(widgets, widget("red", "later", { number: 1 }));
  await stage.cluster.client.delete(widgets, ref);
  const { ours, theirs } = await asked;
  assert.equal(await passed(), before, "the gateway answers it itself");
  assert.deepEqual([ours.status, ours.type], [theirs.status, theirs.type]);
  const [left, right] = [streamedIn(ours), streamedIn(theirs)];
  assert.deepEqual(left, right);
  assert.equal(right.initial.length, 3);
  assert.deepEqual(
    right.later.map((row) => textAt(row, "type")),
    ["ADDED", "DELETED"],
  );
});

/** The parts of a streaming list: objects, the bookmark that ends them without its version, and changes. */
function streamedIn(answered: Answered): {
  readonly initial: readonly unknown[];
  readonly mark: unknown;
  readonly later: readonly unknown[];
} {
  const rows = rowsOf(answered);
  const end = rows.findIndex((row) => JSON.stringify(row).includes("k8s.io/initial-events-end"));
  assert.ok(end >= 0, "the mark");
  const mark: unknown = JSON.parse(
    JSON.stringify(rows[end]).replace(/"resourceVersion":"\d+"/, '"resourceVersion":""'),
  );
  const isChange = (row: unknown): boolean => textAt(row, "type") !== "BOOKMARK";
  return { initial: rows.slice(0, end), mark, later: rows.slice(end + 1).filter(isChange) };
}

test("a watch from a version that is too old gets the same event, and a list from a future one the same refusal", async () => {
  const old = await askBoth(`${path}?allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=6&watch=true`);
  const event = ({ status, type, text }: Answered): unknown => {
    const { changes } = linesOf({ status, type, text });
    const [first] = changes;
    const { message: _message, ...object } = recordAt(first, "object") ?? {};
    return { status, type, lines: changes.length, kind: textAt(first, "type"), object };
  };
  assert.deepEqual(event(old.ours), event(old.theirs));
  assert.equal(numberAt(linesOf(old.ours).changes[0], "object", "code"), 410);
  const future = await askBoth(
    `${path}?limit=500&resourceVersion=99999999&resourceVersionMatch=NotOlderThan`,
  );
  const refusal = ({ status, text }: Answered): unknown => {
    const body: unknown = JSON.parse(text);
    const message = textAt(body, "message")?.replace(/current: \d+/, "");
    return { status, reason: textAt(body, "reason"), message, details: recordAt(body, "details") };
  };
  assert.deepEqual(refusal(future.ours), refusal(future.theirs));
  assert.equal(future.theirs.status, 504);
});
