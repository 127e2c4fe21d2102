import assert from "node:assert/strict";
import { test } from "node:test";
import { external, present, settled, Fixture } from "../testing/managed-fixture.ts";
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
    await using fixture = new Fixture({ reconciler: { connect: async () => client } });
    await settled(fixture);
    assert.equal(await fixture.condition("Synced"), expected);
  }
  await using fixture = new Fixture({ reconciler: { connect: async () => Promise.reject(refused) } });
  await settled(fixture);
  assert.equal(await fixture.condition("Synced"), "False Refused connect failed: no such size");
});

test("what the backend failed to do stands in Synced, also while the resource works, until it is observed no more", async () => {
  let observed: Observation = { ...present, failure: "update failed: no room" };
  await using fixture = new Fixture({
    reconciler: { connect: async () => external({ observe: async () => observed }) },
  });
  await settled(fixture);
  assert.equal(await fixture.condition("Ready"), "True Available");
  assert.equal(await fixture.condition("Synced"), "False Failed update failed: no room");
  observed = { ...present, ready: "unavailable", reason: "Lost", message: "it is lost" };
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.condition("Ready"), "False Lost it is lost");
  assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
});

test("while what a failed create left is cleaned away, the condition goes on saying what failed, until the spec changes", async () => {
  const clean: Observation = { exists: true, upToDate: true, ready: "creating", keepsBackOff: true };
  let observed: Observation = { exists: false, upToDate: false, ready: "creating" };
  const client = external({
    observe: async () => observed,
    create: async () => Promise.reject(new ExternalError("no room", { reason: "Refused" })),
  });
  await using fixture = new Fixture({ reconciler: { connect: async () => client } });
  await settled(fixture);
  observed = clean;
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.condition("Ready"), "False Creating");
  assert.equal(await fixture.condition("Synced"), "False Refused create failed: no room");
  await fixture.patch({ spec: { size: 2 } });
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
});

test("a pause that ended is no failure", async () => {
  const clean: Observation = { exists: true, upToDate: true, ready: "creating", keepsBackOff: true };
  await using fixture = new Fixture({
    reconciler: { connect: async () => external({ observe: async () => clean }) },
  });
  fixture.start();
  await fixture.create({ annotations: { "crossplane.io/paused": "true" } });
  await fixture.clock.advance(minute);
  assert.equal(await fixture.condition("Synced"), "False ReconcilePaused");
  await fixture.patch({ metadata: { annotations: { "crossplane.io/paused": null } } });
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
});

test("who wants to know is told of each problem, and whether the resource is being deleted", async () => {
  const told: string[] = [];
  let observed: Observation = { ...present, failure: "update failed: no room" };
  const client = external({
    observe: async () => observed,
    delete: async () => Promise.reject(new ExternalError("still held", { reason: "StillHeld" })),
  });
  await using fixture = new Fixture({
    reconciler: {
      connect: async () => client,
      onProblem: (managed, { reason, message }, deleting) =>
        told.push(`${managed.metadata.name} ${reason} ${message} ${deleting}`),
    },
  });
  await settled(fixture);
  observed = present;
  await fixture.delete();
  await fixture.clock.advance(minute);
  assert.deepEqual(
    [...new Set(told)],
    ["box Failed update failed: no room false", "box StillHeld delete failed: still held true"],
  );
});
