import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireRequest, WireResponse } from "@klutch/kube";
import { VirtualClock } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { followKind } from "./follow-kind.ts";
import { KindCache } from "./kind-cache.ts";

const object = (name: string, version: number): string =>
  `{"apiVersion":"a.b/v1","kind":"Widget","metadata":{"name":"${name}","namespace":"n","resourceVersion":"${version}"}}`;
const line = (type: string, name: string, version: number): string =>
  `{"type":"${type}","object":${object(name, version)}}\n`;
const bookmark = (version: number): string =>
  `{"type":"BOOKMARK","object":{"kind":"Widget","apiVersion":"a.b/v1","metadata":{"resourceVersion":"${version}"}}}\n`;
const list = (version: number, ...items: readonly string[]): string =>
  `{"apiVersion":"a.b/v1","items":[${items.join()}],"kind":"WidgetList","metadata":{"resourceVersion":"${version}"}}`;

/** One watch as the server answers it: a status other than 200, or lines and how they end. */
interface Served {
  readonly status?: number;
  readonly lines?: readonly string[];
  /** Waits for so long, and then breaks. Default: ends in order at once. */
  readonly breaksAfterMs?: number;
}

/** Follows a server that answers lists and watches in turn, until it has none left; then its last watch stays open. */
async function follow(lists: readonly string[], watches: readonly Served[]) {
  const clock = new VirtualClock();
  const cache = new KindCache({ maxBytes: 10_000, maxAgeMs: 300_000 });
  const stop = new AbortController();
  const asked: string[] = [];
  const [listsLeft, watchesLeft] = [[...lists], [...watches]];
  const answer = (status: number, text: string): WireResponse => ({
    status,
    retryAfter: undefined,
    headers: {},
    body: {
      async *[Symbol.asyncIterator]() {
        yield Buffer.from(text);
      },
    },
    text: () => Promise.resolve(text),
    discard: () => Promise.resolve(),
  });
  const send = async ({ path }: WireRequest): Promise<WireResponse> => {
    if (path === "/apis/a.b/v1") return answer(200, '{"resources":[{"name":"widgets","kind":"Widget"}]}');
    const query = new URLSearchParams(path.split("?")[1]);
    if (query.get("watch") === null) {
      asked.push("list");
      return answer(200, listsLeft.length > 1 ? (listsLeft.shift() ?? "") : (listsLeft[0] ?? ""));
    }
    asked.push(`watch ${query.get("resourceVersion")}`);
    const served = watchesLeft.shift() ?? { breaksAfterMs: Number.POSITIVE_INFINITY };
    const { status = 200, lines = [], breaksAfterMs } = served;
    if (status !== 200) return answer(status, "Too large resource version: 9, current: 3");
    return {
      ...answer(200, ""),
      body: {
        async *[Symbol.asyncIterator]() {
          for (const one of lines) yield Buffer.from(one);
          if (breaksAfterMs === undefined) return;
          await clock.sleep(Math.min(breaksAfterMs, 10_000_000), { signal: stop.signal });
          throw new Error("the connection broke");
        },
      },
    };
  };
  const parts = { clock, random: () => 0.5, logger: silentLogger, transport: { send } };
  const kind = { group: "a.b", version: "v1", plural: "widgets" };
  const done = followKind({ ...parts, kind, cache, signal: stop.signal });
  await clock.advance(200_000);
  const objects = cache.list("n").map((bytes) => bytes.toString());
  const { synced, resourceVersion } = cache;
  stop.abort(new Error("the test is over"));
  await done;
  return { asked, objects, synced, resourceVersion };
}

test("a watch that breaks goes on from the last version, without a list", async () => {
  const broken: Served = { lines: [line("ADDED", "y", 5), bookmark(7)], breaksAfterMs: 1_000 };
  const { asked, objects } = await follow([list(3, object("x", 2))], [broken]);
  assert.deepEqual(asked, ["list", "watch 3", "watch 7"]);
  assert.deepEqual(objects, [object("x", 2), object("y", 5)]);
});

test("a watch that the server closes early is followed by a list: the schema may be another", async () => {
  const { asked, resourceVersion } = await follow([list(3), list(8)], [{ lines: [line("ADDED", "y", 5)] }]);
  assert.deepEqual(asked, ["list", "watch 3", "list", "watch 8"]);
  assert.equal(resourceVersion, 8);
});

test("a server that has gone back is listed again, whether it says so, shows it or is silent", async () => {
  const ways: readonly Served[] = [
    { status: 504 },
    { lines: [line("MODIFIED", "x", 2)], breaksAfterMs: 1_000 },
    { lines: [bookmark(2)], breaksAfterMs: 1_000 },
    { breaksAfterMs: 90_000 },
    { lines: ['{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}\n'] },
  ];
  for (const way of ways) {
    const { asked, objects, synced } = await follow(
      [list(9, object("lost", 9)), list(3, object("x", 2))],
      [way],
    );
    assert.deepEqual(asked, ["list", "watch 9", "list", "watch 3"], JSON.stringify(way));
    assert.deepEqual(objects, [object("x", 2)]);
    assert.ok(synced);
  }
});

test("an answer that is no list of this kind is never served", async () => {
  for (const text of [
    "<html>",
    "{}",
    '{"items":[{}],"metadata":{"resourceVersion":"3"}}',
    list(3, '{"metadata":{}}'),
  ])
    assert.equal((await follow([text], [])).synced, false, text);
});
