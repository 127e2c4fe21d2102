import assert from "node:assert/strict";
import { test } from "node:test";
import { external, present, settled, World } from "../testing/managed-world.ts";
import { ExternalError, NotYetError, type Observation } from "./external.ts";

const minute = 60_000;

test("a reason that the external client has for its error stands in the condition, whatever step it was", async () => {
  const refused = new ExternalError("no such size", { reason: "Refused" });
  const waiting = new NotYetError("the shelf is missing", {
    reason: "WaitingForShelf",
    requeueAfterMs: minute,
  });
  const absent: Observation = { exists: false, upToDate: false, ready: "creating" };
  for (const [error, expected] of [
    [refused, "False Refused create failed: no such size"],
    [waiting, "False WaitingForShelf create failed: the shelf is missing"],
    [new ExternalError("broken"), "False ReconcileError create failed: broken"],
  ] as const) {
    const client = external({ observe: async () => absent, create: async () => Promise.reject(error) });
    await using world = new World({ reconciler: { connect: async () => client } });
    await settled(world);
    assert.equal(await world.condition("Synced"), expected);
  }
  await using world = new World({ reconciler: { connect: async () => Promise.reject(refused) } });
  await settled(world);
  assert.equal(await world.condition("Synced"), "False Refused connect failed: no such size");
});

test("what the backend failed to do stands in Synced, also while the resource works, until it is observed no more", async () => {
  let observed: Observation = { ...present, failure: "update failed: no room" };
  await using world = new World({
    reconciler: { connect: async () => external({ observe: async () => observed }) },
  });
  await settled(world);
  assert.equal(await world.condition("Ready"), "True Available");
  assert.equal(await world.condition("Synced"), "False Failed update failed: no room");
  observed = { ...present, ready: "unavailable", reason: "Lost", message: "it is lost" };
  await world.clock.advance(2 * minute);
  assert.equal(await world.condition("Ready"), "False Lost it is lost");
  assert.equal(await world.condition("Synced"), "True ReconcileSuccess");
});

test("while what a failed create left is cleaned away, the condition goes on saying what failed, until the spec changes", async () => {
  const clean: Observation = { exists: true, upToDate: true, ready: "creating", keepsBackOff: true };
  let observed: Observation = { exists: false, upToDate: false, ready: "creating" };
  const client = external({
    observe: async () => observed,
    create: async () => Promise.reject(new ExternalError("no room", { reason: "Refused" })),
  });
  await using world = new World({ reconciler: { connect: async () => client } });
  await settled(world);
  observed = clean;
  await world.clock.advance(2 * minute);
  assert.equal(await world.condition("Ready"), "False Creating");
  assert.equal(await world.condition("Synced"), "False Refused create failed: no room");
  await world.patch({ spec: { size: 2 } });
  await world.clock.advance(2 * minute);
  assert.equal(await world.condition("Synced"), "True ReconcileSuccess");
});

test("a pause that ended is no failure", async () => {
  const clean: Observation = { exists: true, upToDate: true, ready: "creating", keepsBackOff: true };
  await using world = new World({
    reconciler: { connect: async () => external({ observe: async () => clean }) },
  });
  world.start();
  await world.create({ annotations: { "crossplane.io/paused": "true" } });
  await world.clock.advance(minute);
  assert.equal(await world.condition("Synced"), "False ReconcilePaused");
  await world.patch({ metadata: { annotations: { "crossplane.io/paused": null } } });
  await world.clock.advance(2 * minute);
  assert.equal(await world.condition("Synced"), "True ReconcileSuccess");
});

test("who wants to know is told of each problem, and whether the resource is being deleted", async () => {
  const told: string[] = [];
  let observed: Observation = { ...present, failure: "update failed: no room" };
  const client = external({
    observe: async () => observed,
    delete: async () => Promise.reject(new ExternalError("still held", { reason: "StillHeld" })),
  });
  await using world = new World({
    reconciler: {
      connect: async () => client,
      onProblem: (managed, { reason, message }, deleting) =>
        told.push(`${managed.metadata.name} ${reason} ${message} ${deleting}`),
    },
  });
  await settled(world);
  observed = present;
  await world.delete();
  await world.clock.advance(minute);
  assert.deepEqual(
    [...new Set(told)],
    ["box Failed update failed: no room false", "box StillHeld delete failed: still held true"],
  );
});
