import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, TransportError, WatchStalledError } from "@klutch/kube";
import { nextStep, type WatcherOutcome, type WatcherState, type WatcherStep } from "./watcher.ts";

const api = (status: number, reason = ""): ApiError => new ApiError({ status, reason, message: "x" });
const listing: WatcherState = { kind: "listing", mode: "stream" };
const paging: WatcherState = { kind: "listing", mode: "pages" };
const watching: WatcherState = { kind: "watching", mode: "stream", resourceVersion: "7" };
const resumed: WatcherState = { kind: "watching", mode: "stream", resourceVersion: "9" };
const at = "9";

const table: readonly (readonly [string, WatcherState, WatcherOutcome, WatcherStep])[] = [
  [
    "a streaming list that is not offered is read by pages",
    listing,
    { error: api(400) },
    { state: paging, wait: "none" },
  ],
  [
    "a list that fails is tried again, later",
    listing,
    { error: api(500) },
    { state: listing, wait: "backoff" },
  ],
  ["a list that ends before it is complete is tried again", listing, {}, { state: listing, wait: "backoff" }],
  [
    "after the pages the watch begins at once",
    paging,
    { resourceVersion: at },
    { state: { ...resumed, mode: "pages" }, wait: "none" },
  ],
  [
    "a closed stream is resumed where it ended",
    watching,
    { resourceVersion: at },
    { state: resumed, wait: "short" },
  ],
  [
    "a broken stream is resumed where it ended",
    watching,
    { resourceVersion: at, error: new TransportError("Reset", "x") },
    { state: resumed, wait: "backoff" },
  ],
  [
    "a stalled stream is resumed where it ended",
    watching,
    { resourceVersion: at, error: new WatchStalledError(1) },
    { state: resumed, wait: "backoff" },
  ],
  [
    "410 begins a new list",
    watching,
    { resourceVersion: at, error: api(410, "Expired") },
    { state: listing, wait: "backoff" },
  ],
  [
    "a streaming list that breaks after it was complete is resumed",
    listing,
    { resourceVersion: at, error: new TransportError("Reset", "x") },
    { state: resumed, wait: "backoff" },
  ],
];

for (const [name, state, outcome, step] of table) {
  test(name, () => assert.deepEqual(nextStep(state, outcome), step));
}
