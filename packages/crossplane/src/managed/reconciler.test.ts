import assert from "node:assert/strict";
import { test } from "node:test";
import { Effects } from "@klutch/kube-testing";
import { external, idAnnotation, present, settled, Fixture } from "../testing/managed-fixture.ts";
import { type ExternalClient, ExternalError, type Observation } from "./external.ts";
import { managedFinalizer } from "./plan.ts";

const minute = 60_000;
const hour = 60 * minute;
const absent: Observation = { exists: false, upToDate: false, ready: "creating" };

test("a paused resource is left alone, says so once, and goes on when the pause ends", async () => {
  await using fixture = new Fixture();
  fixture.start();
  await fixture.create({ annotations: { "crossplane.io/paused": "true" } });
  await fixture.clock.advance(hour);
  assert.equal(await fixture.condition("Synced"), "False ReconcilePaused");
  assert.deepEqual(fixture.effects.log, ["patch Crate status"]);
  await fixture.patch({ metadata: { annotations: { "crossplane.io/paused": null } } });
  await fixture.clock.advance(minute);
  assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
  assert.equal(fixture.backend.crates.size, 1);
});

test("a pause also holds a deletion, and no other value than true is a pause", async () => {
  await using fixture = new Fixture();
  await settled(fixture);
  await fixture.patch({ metadata: { annotations: { "crossplane.io/paused": "true" } } });
  await fixture.delete();
  await fixture.clock.advance(hour);
  assert.equal(fixture.backend.crates.size, 1);
  await fixture.patch({ metadata: { annotations: { "crossplane.io/paused": "yes" } } });
  await fixture.clock.advance(minute);
  assert.equal(fixture.backend.crates.size, 0);
  assert.equal(await fixture.managed(), undefined);
});

for (const [what, spec] of [
  ["deletionPolicy Orphan", { deletionPolicy: "Orphan" }],
  ["policies without Delete", { managementPolicies: ["Observe", "Create", "Update"] }],
] as const) {
  test(`with ${what} the object goes and the external resource stays`, async () => {
    await using fixture = new Fixture();
    await settled(fixture, spec);
    await fixture.delete();
    await fixture.clock.advance(minute);
    assert.equal(await fixture.managed(), undefined);
    assert.equal(fixture.backend.crates.size, 1);
    assert.deepEqual(fixture.backend.deleted, []);
  });
}

test("policies without Create make nothing, and those without Update change nothing", async () => {
  await using watching = new Fixture();
  await settled(watching, { managementPolicies: ["Observe"] });
  assert.equal(watching.backend.crates.size, 0);
  assert.equal(await watching.condition("Ready"), "False Creating");
  await using making = new Fixture();
  await settled(making, { managementPolicies: ["Observe", "Create", "Delete"] });
  await making.patch({ spec: { size: 7 } });
  await making.clock.advance(5 * minute);
  assert.deepEqual([...making.backend.crates.values()], [{ size: 1, state: "available" }]);
  assert.equal((await making.managed())?.status?.size, 1);
});

test("what was never created is let go without asking a backend that is down", async () => {
  const connect = async (): Promise<ExternalClient> => {
    throw new ExternalError("the backend is down");
  };
  await using sure = new Fixture({ reconciler: { connect, neverCreated: () => true } });
  await settled(sure);
  await sure.delete();
  await sure.clock.advance(minute);
  assert.equal(await sure.managed(), undefined);
  await using unsure = new Fixture({ reconciler: { connect } });
  await settled(unsure);
  await unsure.delete();
  await unsure.clock.advance(hour);
  assert.equal(await unsure.condition("Synced"), "False ReconcileError connect failed: the backend is down");
  assert.deepEqual((await unsure.managed())?.metadata.finalizers, [managedFinalizer]);
});

test("a failure names its step, keeps the time it began, and is gone from the condition when all is well", async () => {
  let works = false;
  const create = async (): Promise<void> => {
    if (!works) throw new Error("no room left");
  };
  const observe = async (): Promise<Observation> => (works ? present : absent);
  await using fixture = new Fixture({ reconciler: { connect: async () => external({ observe, create }) } });
  await settled(fixture);
  assert.equal(await fixture.condition("Synced"), "False ReconcileError create failed: no room left");
  assert.equal(await fixture.condition("Ready"), undefined);
  const since = (await fixture.managed())?.status?.conditions?.[0]?.lastTransitionTime;
  await fixture.clock.advance(hour);
  assert.equal((await fixture.managed())?.status?.conditions?.[0]?.lastTransitionTime, since);
  works = true;
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
  assert.equal(await fixture.condition("Ready"), "True Available");
});

for (const [step, changes] of [
  ["observe", { observe: async () => Promise.reject(new Error("broken")) }],
  [
    "update",
    {
      observe: async () => ({ ...present, upToDate: false }),
      update: async () => Promise.reject(new Error("broken")),
    },
  ],
] as const satisfies readonly (readonly [string, Partial<ExternalClient>])[]) {
  test(`an error of ${step} is reported as such`, async () => {
    await using fixture = new Fixture({ reconciler: { connect: async () => external(changes) } });
    await settled(fixture);
    assert.equal(await fixture.condition("Synced"), `False ReconcileError ${step} failed: broken`);
  });
}

test("fields of status that an observation names are written, those it takes back are removed, others stay", async () => {
  let fields: Observation["status"] = { size: 3, note: "full" };
  const observe = async (): Promise<Observation> => ({ ...present, status: fields });
  await using fixture = new Fixture({ reconciler: { connect: async () => external({ observe }) } });
  await settled(fixture);
  await fixture.user.mergePatch(
    { group: "example.org", version: "v1", plural: "crates", kind: "Crate", namespaced: false },
    { name: "box" },
    { status: { foreign: true } },
    { subresource: "status" },
  );
  fields = { size: 4, note: undefined };
  await fixture.clock.advance(2 * minute);
  const { conditions, ...status } = (await fixture.managed())?.status ?? {};
  assert.deepEqual(status, { size: 4, foreign: true });
  assert.equal(conditions?.length, 2);
});

test("a conflict is tried again without a word in the conditions", async () => {
  const effects = new Effects(new Map([[4, "conflict"]]));
  await using fixture = new Fixture({ effects });
  await settled(fixture);
  assert.deepEqual(effects.log.slice(3), ["create Secret", "create Secret", "patch Crate status"]);
});

/** A backend whose create writes one annotation before and one after its call, and somebody who writes the object during the call. */
async function createBesides(meanwhile: (fixture: Fixture) => Promise<void>): Promise<readonly unknown[]> {
  const calls: unknown[] = [];
  const fixture: Fixture = new Fixture({
    reconciler: {
      connect: async (managed, { updateCriticalAnnotations: update }) => {
        const recorded = managed.metadata.annotations?.[idAnnotation];
        return external({
          observe: async () => (recorded === "made" ? present : absent),
          create: async () => {
            calls.push(recorded);
            await update({ [idAnnotation]: "calling" });
            if (calls.length === 1) await meanwhile(fixture);
            await update({ [idAnnotation]: "made" });
          },
        });
      },
    },
  });
  await using _ = fixture;
  await settled(fixture);
  assert.equal((await fixture.managed())?.metadata.annotations?.[idAnnotation], "made");
  return calls;
}

test("what a backend answered is recorded, and the call not repeated, when somebody else writes the object meanwhile", async () => {
  const label = (fixture: Fixture): Promise<void> => fixture.patch({ metadata: { labels: { other: "1" } } });
  assert.deepEqual(await createBesides(label), [undefined]);
});

test("an answer does not overwrite what another process recorded meanwhile", async () => {
  const record = (fixture: Fixture): Promise<void> =>
    fixture.patch({ metadata: { annotations: { [idAnnotation]: "another" } } });
  assert.deepEqual(await createBesides(record), [undefined, "another"]);
});

test("an external name that was chosen stays, and foreign finalizers are neither moved nor waited for", async () => {
  await using fixture = new Fixture();
  fixture.start();
  await fixture.create({ annotations: { "crossplane.io/external-name": "chosen" } });
  await fixture.patch({ metadata: { finalizers: ["example.org/other"] } });
  await fixture.clock.advance(minute);
  const { metadata } = (await fixture.managed()) ?? {};
  assert.equal(metadata?.annotations?.["crossplane.io/external-name"], "chosen");
  assert.deepEqual(metadata?.finalizers?.toSorted(), ["example.org/other", managedFinalizer].toSorted());
  await fixture.delete();
  await fixture.clock.advance(minute);
  assert.deepEqual((await fixture.managed())?.metadata.finalizers, ["example.org/other"]);
  assert.equal(fixture.backend.crates.size, 0);
  const before = fixture.effects.count;
  await fixture.clock.advance(hour);
  assert.equal(fixture.effects.count, before, "nothing is done with what only others hold");
});

test("an object that vanishes during a reconcile is forgotten", async () => {
  const effects = new Effects(new Map(), async (count) => {
    if (effects.log[count - 1] !== "create crate") return;
    await fixture.patch({ metadata: { finalizers: null } });
    await fixture.delete();
  });
  const fixture = new Fixture({ effects });
  await using _ = fixture;
  await settled(fixture);
  const before = effects.count;
  await fixture.clock.advance(hour);
  assert.equal(effects.count, before);
});

test("who updates critical annotations works with the object as it is afterwards", async () => {
  await using fixture = new Fixture();
  await settled(fixture);
  const id = (await fixture.managed())?.metadata.annotations?.[idAnnotation];
  assert.deepEqual([...fixture.backend.crates.keys()], [id]);
});

test("an external name that was removed comes back, and the finalizer is there once", async () => {
  await using fixture = new Fixture();
  await settled(fixture);
  await fixture.patch({ metadata: { annotations: { "crossplane.io/external-name": null } } });
  await fixture.clock.advance(2 * minute);
  const { metadata } = (await fixture.managed()) ?? {};
  assert.equal(metadata?.annotations?.["crossplane.io/external-name"], "box");
  assert.deepEqual(metadata?.finalizers, [managedFinalizer]);
});

test("a critical annotation that is taken back is gone, and no other", async () => {
  await using fixture = new Fixture({
    reconciler: {
      connect: async (_managed, { updateCriticalAnnotations }) => {
        await updateCriticalAnnotations({ [idAnnotation]: undefined });
        return external({});
      },
    },
  });
  fixture.start();
  await fixture.create({ annotations: { [idAnnotation]: "crate-1", "example.org/note": "kept" } });
  await fixture.clock.advance(minute);
  assert.deepEqual((await fixture.managed())?.metadata.annotations, {
    "crossplane.io/external-name": "box",
    "example.org/note": "kept",
  });
});
