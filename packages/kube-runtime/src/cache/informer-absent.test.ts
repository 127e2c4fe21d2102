import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceType } from "@klutch/kube-core";
import { ApiServerModel, seededRandom, VirtualClock } from "@klutch/kube-testing";
import { recordingLogger, type LogLine } from "../testing/recording-logger.ts";
import { Informer } from "./informer.ts";

const minute = 60_000;
const widgets: ResourceType = {
  group: "example.org",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: false,
};
const widget = { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "w" } };

/** A cache of a kind that the server does not serve yet. */
function unserved(mayBeAbsent: boolean) {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  const lines: LogLine[] = [];
  const informer = new Informer({
    client: server.client({ clusterName: "test" }),
    type: widgets,
    mayBeAbsent,
    logger: recordingLogger(lines),
    clock,
    random: seededRandom(1),
  });
  informer.start();
  return {
    clock,
    server,
    informer,
    lines,
    serve: () => server.register({ type: widgets, statusSubresource: true }),
  };
}

test("a kind that may be absent is an empty cache until it comes, and that is said once", async () => {
  const { clock, server, informer, lines, serve } = unserved(true);
  await using _ = informer;
  await clock.advance(10 * minute);
  assert.equal(informer.synced, true);
  assert.equal(informer.status().stale, false);
  assert.deepEqual([...informer.list()], []);
  serve();
  await server.client({ clusterName: "user" }).create(widgets, widget);
  await clock.advance(minute);
  assert.deepEqual(
    [...informer.list()].map(({ metadata }) => metadata.name),
    ["w"],
  );
  const said = lines.map(({ message }) => message);
  assert.deepEqual(said, [
    "the kind is not served; going on without it until it is",
    "the kind is served now",
  ]);
});

test("objects of a kind that was served stay known when it is not served any more", async () => {
  const { clock, server, informer, serve } = unserved(true);
  await using _ = informer;
  serve();
  await server.client({ clusterName: "user" }).create(widgets, widget);
  await clock.advance(minute);
  server.unregister(widgets);
  await clock.advance(20 * minute);
  assert.equal([...informer.list()].length, 1);
  assert.equal(informer.status().stale, true);
});

test("any other kind is waited for", async () => {
  const { clock, informer, serve } = unserved(false);
  await using _ = informer;
  await clock.advance(10 * minute);
  assert.equal(informer.synced, false);
  serve();
  await clock.advance(minute);
  assert.equal(informer.synced, true);
});
