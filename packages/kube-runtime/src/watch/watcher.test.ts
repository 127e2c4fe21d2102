import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, TransportError, WatchStalledError } from "@klutch/kube";
import { nextStep, type WatcherOutcome, type WatcherState, type WatcherStep } from "./watcher.ts";

const api = (status: number, reason = ""): ApiError => new ApiError({ status, reason, message: "x" });
const listing: WatcherState = { kind: "listing" };
const watching: WatcherState = { kind: "watching", resourceVersion: "7" };
const resumed: WatcherState = { kind: "watching", resourceVersion: "9" };
const at = "9";
const stalled = new WatchStalledError(1);

const table: readonly (readonly [string, WatcherState, WatcherOutcome, WatcherStep])[] = [
  [
    "a list that fails is tried again, later",
    listing,
    { error: api(500) },
    { state: listing, wait: "backoff" },
  ],
  [
    "after the list the watch begins at once",
    listing,
    { resourceVersion: at },
    { state: resumed, wait: "none" },
  ],
  [
    "a closed stream is resumed where it ended",
    watching,
    { resourceVersion: at },
    { state: resumed, wait: "short" },
  ],
  [
    "a stream that is closed before its time is followed by a list that counts at the same version",
    watching,
    { resourceVersion: at, isEarly: true },
    { state: { kind: "listing", isReread: true }, wait: "short" },
  ],
  [
    "such a list that fails is tried again as such a list",
    { kind: "listing", isReread: true },
    { error: api(500) },
    { state: { kind: "listing", isReread: true }, wait: "backoff" },
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
    "a stream in which nothing came begins a new list: its version may be one that the server does not reach for long",
    watching,
    { resourceVersion: "7", error: stalled },
    { state: { kind: "listing", silence: { resourceVersion: "7", error: stalled } }, wait: "backoff" },
  ],
  [
    "such a list that fails is tried again as a list after silence",
    { kind: "listing", silence: { resourceVersion: "7", error: stalled } },
    { error: api(500) },
    { state: { kind: "listing", silence: { resourceVersion: "7", error: stalled } }, wait: "backoff" },
  ],
  [
    "a server that went back to an older version, restored from a backup, begins a new list",
    watching,
    { resourceVersion: "5" },
    { state: listing, wait: "backoff" },
  ],
  [
    "a version that the server calls too large begins a new list",
    watching,
    {
      resourceVersion: "7",
      error: new ApiError({
        status: 504,
        reason: "Timeout",
        message: "Too large resource version: 7, current: 5",
      }),
    },
    { state: listing, wait: "backoff" },
  ],
  [
    "410 begins a new list",
    watching,
    { resourceVersion: at, error: api(410, "Expired") },
    { state: listing, wait: "backoff" },
  ],
];

for (const [name, state, outcome, step] of table) {
  test(name, () => assert.deepEqual(nextStep(state, outcome), step));
}
