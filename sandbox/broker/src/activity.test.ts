import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogFields, type Logger, silentLogger } from "@klutch/telemetry";
import { ActivityWatch, metadataOf, seenAfter } from "./activity.ts";
import type { Activity, Driver } from "./drivers/driver.ts";
import type { Instance, SeenActivity } from "./store.ts";

const old = new Date("2026-01-01T00:00:00Z");
const at = new Date("2026-11-29T12:00:00Z");
const before: SeenActivity = { bytes: 5, lastSession: old, epoch: "a", sessions: 7 };
const quiet: Activity = { bytes: 6, sessions: 7, epoch: "a", isOpen: false, own: 0 };
const sessionAfter = (more: Partial<Activity>, known: SeenActivity | undefined = before): Date =>
  seenAfter(known, { ...quiet, ...more }, at).lastSession;

test("the last session stays while no client comes, and the size follows", () => {
  assert.deepEqual(seenAfter(before, quiet, at), { bytes: 6, lastSession: old, epoch: "a", sessions: 7 });
});

test("a connected client, and one that came and went between two looks, move the last session", () => {
  assert.equal(sessionAfter({ isOpen: true }), at);
  assert.equal(sessionAfter({ sessions: 8 }), at);
});

test("sessions of the broker itself are no use, and do not hide those of clients", () => {
  assert.equal(sessionAfter({ sessions: 8, own: 1 }), old);
  assert.equal(sessionAfter({ sessions: 7, own: 1 }), old);
  assert.equal(sessionAfter({ sessions: 9, own: 1 }), at);
});

test("a server that counts from 0 again is used if it has counted a session", () => {
  assert.equal(sessionAfter({ epoch: "b", sessions: 0 }), old);
  assert.equal(sessionAfter({ epoch: "b", sessions: 1 }), at);
  assert.equal(sessionAfter({ epoch: "b", sessions: 7 }), at);
  assert.equal(sessionAfter({ sessions: 3 }), at);
});

test("an instance that is seen for the first time counts as used now", () => {
  assert.equal(seenAfter(undefined, quiet, at).lastSession, at);
});

test("an answer has both attributes as texts, and none if nothing is known", () => {
  assert.deepEqual(metadataOf(before), {
    metadata: {
      attributes: {
        "klutch.anynines.com/bytes": "5",
        "klutch.anynines.com/last-session": "2026-01-01T00:00:00.000Z",
      },
    },
  });
  assert.deepEqual(metadataOf(undefined), {});
});

function watchOf(activity: Driver["activity"] | undefined, everyMs?: number) {
  const saved = new Map<string, SeenActivity>();
  const said: (LogFields | undefined)[] = [];
  const logger: Logger = { ...silentLogger, warn: (_message, fields) => void said.push(fields) };
  const instances = ["one", "two"].map((id) => ({ id }) as Instance);
  const watch = new ActivityWatch({
    store: {
      provisioned: () => Promise.resolve(instances),
      activity: (id) => Promise.resolve(saved.get(id)),
      saveActivity: async (id, seen) => void saved.set(id, seen),
    },
    driverOf: ({ id }) => (id === "one" ? ({ activity } as Driver) : ({} as Driver)),
    logger,
    everyMs,
  });
  return { watch, saved, said };
}

test("servers that cannot tell are left out", async () => {
  const { watch, saved } = watchOf(async function* (all) {
    for (const instance of all) yield [instance, quiet];
  });
  await watch.look();
  assert.deepEqual([...saved.keys()], ["one"]);
});

test("a server that fails is named once, and the next look goes on", async () => {
  let looks = 0;
  const { promise: looked, resolve } = Promise.withResolvers<void>();
  const { watch, saved, said } = watchOf(async function* (all) {
    if (++looks < 4) throw new Error("it is away");
    for (const instance of all) yield [instance, quiet];
    if (looks === 6) resolve();
  }, 1);
  watch.start();
  await looked;
  await watch[Symbol.asyncDispose]();
  assert.equal(said.length, 1);
  assert.deepEqual([...saved.keys()], ["one"]);
});
