import assert from "node:assert/strict";
import { test } from "node:test";
import { numberAt, textAt } from "@klutch/kube-core";
import { VirtualClock } from "@klutch/kube-testing";
import type { Right } from "./authority.ts";
import { History } from "./history.ts";
import { streamWatch, type WatchEnd, type WatchStreamOptions } from "./watch-stream.ts";

const line = (type: string, version: number): Buffer =>
  Buffer.from(`{"type":"${type}","object":{"metadata":{"name":"x","resourceVersion":"${version}"}}}\n`);

interface Running {
  readonly clock: VirtualClock;
  readonly history: History;
  readonly ended: Promise<WatchEnd>;
  /** Lines since the last call, as `TYPE version`. */
  readonly lines: () => Promise<readonly string[]>;
  readonly gone: AbortController;
  readonly state: { reached: number; right: Right; isSlow: boolean; drain: () => void };
}

function start(more: Partial<WatchStreamOptions> = {}, after = 0): Running {
  const clock = new VirtualClock();
  const history = new History(0, { maxBytes: 400, maxAgeMs: 300_000 });
  const cursor = history.cursor("n", after);
  assert.ok(cursor !== undefined);
  const gone = new AbortController();
  let text = "";
  const state = { reached: after, right: "allowed" as Right, isSlow: false, drain: (): void => undefined };
  const ended = streamWatch({
    names: { apiVersion: "a.b/v1", kind: "Widget" },
    cursor,
    from: after,
    marksInitialEvents: false,
    bookmarks: true,
    lastsMs: 300_000,
    reached: () => state.reached,
    mayGoOn: () => Promise.resolve(state.right),
    askEveryMs: 10_000,
    askAtMs: 0,
    clock,
    sink: {
      signal: gone.signal,
      write: (bytes) => {
        text += Buffer.from(bytes).toString();
        return !state.isSlow;
      },
      hold: () => ({ [Symbol.dispose]: () => undefined }),
      drained: () => new Promise((resolve) => (state.drain = resolve)),
    },
    ...more,
  });
  return {
    clock,
    history,
    ended,
    gone,
    state,
    async lines() {
      await clock.advance(0);
      const rows = text.split("\n").filter((row) => row !== "");
      text = "";
      return rows.map((row) => {
        const event: unknown = JSON.parse(row);
        const version = textAt(event, "object", "metadata", "resourceVersion");
        const isEnd =
          textAt(event, "object", "metadata", "annotations", "k8s.io/initial-events-end") === "true";
        return `${textAt(event, "type")} ${numberAt(event, "object", "code") ?? version}${isEnd ? " end" : ""}`;
      });
    },
  };
}

test("a quiet watch gets a bookmark each minute, one shortly before its end, and ends in time", async () => {
  const { clock, lines, ended, state } = start({ lastsMs: 90_000 }, 5);
  await clock.advance(59_999);
  assert.deepEqual(await lines(), []);
  state.reached = 70;
  await clock.advance(1);
  assert.deepEqual(await lines(), ["BOOKMARK 70"]);
  await clock.advance(28_000);
  assert.deepEqual(await lines(), ["BOOKMARK 70"]);
  await clock.advance(2_000);
  assert.equal(await ended, "over");
});

test("a bookmark never goes back behind the version that the client came with", async () => {
  const { clock, lines, state } = start({}, 500);
  state.reached = 20;
  await clock.advance(60_000);
  assert.deepEqual(await lines(), ["BOOKMARK 500"]);
});

test("a client that did not ask for bookmarks gets none", async () => {
  const { clock, lines } = start({ bookmarks: false });
  await clock.advance(200_000);
  assert.deepEqual(await lines(), []);
});

test("events come at once and in order, and a bookmark does not overtake one", async () => {
  const { clock, history, lines, state } = start();
  history.append(3, "n", line("ADDED", 3), 0);
  history.append(4, "other", line("ADDED", 4), 0);
  history.append(6, "n", line("DELETED", 6), 0);
  state.reached = 6;
  assert.deepEqual(await lines(), ["ADDED 3", "DELETED 6"]);
  await clock.advance(60_000);
  assert.deepEqual(await lines(), ["BOOKMARK 6"]);
});

test("initial objects come first, then their end, then what happened meanwhile", async () => {
  const objects = ["1", "2"].map((version) => Buffer.from(`{"metadata":{"resourceVersion":"${version}"}}`));
  const { history, lines } = start({ initial: [objects], marksInitialEvents: true }, 4);
  history.append(5, "n", line("MODIFIED", 5), 0);
  assert.deepEqual(await lines(), ["ADDED 1", "ADDED 2", "BOOKMARK 4 end", "MODIFIED 5"]);
});

test("a list that breaks off has no end that claims it was whole", async () => {
  async function* initial(): AsyncGenerator<readonly Buffer[]> {
    yield [Buffer.from('{"metadata":{"resourceVersion":"1"}}')];
    throw new Error("a page is missing");
  }
  const { lines, ended, history } = start({ initial: initial(), marksInitialEvents: true });
  await assert.rejects(ended, /a page is missing/);
  assert.deepEqual(await lines(), ["ADDED 1"]);
  assert.equal(history.cursors, 0);
});

test("a withdrawn right, a token that is gone and a silent API server each end the watch", async () => {
  for (const [right, end] of [
    ["denied", ["ERROR 403"]],
    ["unauthorized", ["ERROR 401"]],
    ["unknown", []],
  ] as const) {
    const { clock, lines, ended, state, history } = start();
    state.right = right;
    await clock.advance(10_000);
    if (right === "unknown") await clock.advance(20_000);
    assert.equal(await ended, "denied");
    assert.deepEqual(
      (await lines()).filter((row) => !row.startsWith("BOOKMARK")),
      end,
    );
    assert.equal(history.cursors, 0);
  }
});

test("one failed question does not end a watch", async () => {
  const { clock, lines, state, history } = start();
  state.right = "unknown";
  await clock.advance(20_000);
  state.right = "allowed";
  await clock.advance(10_000);
  history.append(3, "n", line("ADDED", 3), 0);
  assert.deepEqual(await lines(), ["ADDED 3"]);
});

test("a reader that stops is not waited for longer than 30 s", async () => {
  const { clock, history, ended, state, lines } = start();
  state.isSlow = true;
  history.append(1, "n", line("ADDED", 1), 0);
  assert.deepEqual(await lines(), ["ADDED 1"]);
  await clock.advance(30_000);
  assert.equal(await ended, "slow");
  assert.equal(history.cursors, 0);
});

test("a slow reader that comes back after its events are dropped lists again", async () => {
  const { history, ended, state, lines } = start();
  state.isSlow = true;
  history.append(1, "n", line("ADDED", 1), 0);
  assert.deepEqual(await lines(), ["ADDED 1"]);
  for (let version = 2; version <= 20; version++) history.append(version, "n", line("MODIFIED", version), 0);
  assert.ok(history.bytes <= 400, "the history grows with slow readers");
  state.isSlow = false;
  state.drain();
  assert.deepEqual(await lines(), ["ERROR 410"]);
  assert.equal(await ended, "expired");
});

test("a reader that has gone ends the watch at once", async () => {
  const { gone, ended, history } = start();
  gone.abort();
  assert.equal(await ended, "gone");
  assert.equal(history.cursors, 0);
});
