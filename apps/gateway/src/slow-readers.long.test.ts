/** Clients that never read, over a real API server: they hold little of the gateway's memory, and nothing that another app cluster needs. */
import assert from "node:assert/strict";
import { type ClientHttp2Session, connect } from "node:http2";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { ClusterConfig } from "@klutch/kube";
import { waitFor } from "@klutch/kube-testing";
import { slowestMs } from "./reader.ts";
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

const mebibyte = 1024 * 1024;
/** Before the gateway gives up readers that take nothing. A loaded machine needs more than ten seconds for a hundred writes of 1 MiB. */
const soonMs = slowestMs - 5_000;
const path = "/apis/shop.example.com/v1/namespaces/red/widgets";
let stage: Stage;
let gateway: RunningGateway;
let red: ClusterConfig;
let blue: ClusterConfig;
const stack = new AsyncDisposableStack();

before(async () => {
  stage = stack.use(await startStage());
  [red, blue] = [await stage.tenant("red"), await stage.tenant("blue")];
  gateway = stack.use(await startGateway(stage));
  for (const name of ["a", "b", "c"])
    await stage.cluster.client.create(widgets, widget("red", name, { text: "x".repeat(mebibyte) }));
});
after(() => stack.disposeAsync());

/** A connection of red, whose answers have no room: the gateway may send headers and not one byte more. */
function deaf(): ClientHttp2Session & Disposable {
  const session = connect(gateway.url, { ca: red.ca ?? "", settings: { initialWindowSize: 0 } });
  session.on("error", () => undefined);
  return Object.assign(session, { [Symbol.dispose]: () => session.destroy() });
}

function ask(session: ClientHttp2Session, target: string, patch?: string): void {
  const method = patch === undefined ? "GET" : "PATCH";
  const type =
    patch === undefined
      ? {}
      : { "content-type": "application/merge-patch+json", "content-length": Buffer.byteLength(patch) };
  const headers = { ":path": target, ":method": method, authorization: tokenOf(red), ...type };
  const stream = session.request(headers, { endStream: patch === undefined });
  stream.on("error", () => undefined);
  if (patch !== undefined) stream.end(patch);
}

/** Bytes of buffers of this process, in which the gateway runs. */
async function bufferedBytes(): Promise<number> {
  globalThis.gc?.();
  await setTimeout(500);
  return process.memoryUsage().arrayBuffers;
}

test("a hundred writes whose answers no one reads do not hold up another app cluster's", async () => {
  await using other = clientOf(blue, gateway);
  await other.create(widgets, widget("blue", "before"));
  using session = deaf();
  for (let count = 0; count < 100; count++)
    ask(session, `${path}/a?dryRun=All`, JSON.stringify({ metadata: { labels: { count: String(count) } } }));
  const passed = (): Promise<number> => gateway.read('klutch_gateway_passed_requests_total{reason="method"}');
  await waitFor("all of them to be under way", async () => (await passed()) >= 101);
  await setTimeout(2_000);
  const signal = AbortSignal.timeout(soonMs);
  await other.create(widgets, widget("blue", "meanwhile"), { signal });
});

test("hundreds of watches and streaming lists that no one reads share the objects that they begin with", async () => {
  await using client = clientOf(red, gateway);
  await untilShared(gateway, client, "red");
  const before = await bufferedBytes();
  using session = deaf();
  const served = (): Promise<number> => gateway.read("klutch_gateway_served_watches");
  for (let count = 0; count < 150; count++) ask(session, `${path}?watch=1&resourceVersion=0`);
  await waitFor("the watches to begin", async () => (await served()) === 150);
  const streamed = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  for (let count = 0; count < 80; count++) ask(session, `${path}?watch=1&${streamed}`);
  await waitFor("two of the streaming lists to begin", async () => (await served()) === 152);
  const grown = (await bufferedBytes()) - before;
  assert.ok(grown < 40 * mebibyte, `${Math.round(grown / mebibyte)} MiB`);
  await using other = clientOf(blue, gateway);
  const options = { namespace: "blue", sendInitialEvents: true, signal: AbortSignal.timeout(soonMs) };
  const first = await other.watch(widgets, options)[Symbol.asyncIterator]().next();
  assert.equal(first.done, false);
  session.destroy();
  await waitFor("its watches to end", async () => (await served()) === 0);
  await client.list(widgets, { namespace: "red", resourceVersion: "0" });
});
