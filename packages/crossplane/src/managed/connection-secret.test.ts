import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerReference, secrets } from "@klutch/kube-core";
import { present, secretRef, World } from "../testing/managed-world.ts";
import { connectionIsMissing } from "./connection-secret.ts";
import type { ExternalClient, Observation } from "./external.ts";

const minute = 60_000;

/** A world whose backend gives the connection that `connection` holds at that time. */
function worldWith(observation: () => Observation): World {
  const nothing = async (): Promise<void> => {};
  const client: ExternalClient = {
    observe: async () => observation(),
    create: nothing,
    update: nothing,
    delete: nothing,
  };
  return new World({ reconciler: { connect: async () => client } });
}

async function start(world: World, spec: object = {}): Promise<void> {
  world.start();
  await world.create({ spec });
  await world.clock.advance(2 * minute);
}

test("the Secret has Crossplane's type, the details and the managed resource as its controller", async () => {
  await using world = worldWith(() => ({ ...present, connection: { username: "u", password: "ä" } }));
  await start(world);
  const [secret, managed] = [await world.secret(), await world.managed()];
  assert.equal(secret?.type, "connection.crossplane.io/v1alpha1");
  assert.deepEqual(secret?.data, { username: "dQ==", password: "w6Q=" });
  assert.deepEqual(secret?.metadata.ownerReferences, [
    {
      apiVersion: "example.org/v1",
      kind: "Crate",
      name: "box",
      uid: managed?.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ]);
});

for (const [what, connection] of [
  ["no details", undefined],
  ["empty details", {}],
] as const) {
  test(`with ${what} no Secret is made, and an existing one stays as it is`, async () => {
    let details: Observation["connection"] = connection;
    await using world = worldWith(() => ({ ...present, connection: details }));
    await start(world);
    assert.equal(await world.secret(), undefined);
    details = { password: "p" };
    await world.clock.advance(2 * minute);
    details = connection;
    await world.clock.advance(2 * minute);
    assert.deepEqual((await world.secret())?.data, { password: "cA==" });
  });
}

test("without a reference nothing is published", async () => {
  await using world = worldWith(() => ({ ...present, connection: { password: "p" } }));
  await start(world, { writeConnectionSecretToRef: undefined });
  assert.equal(await world.secret(), undefined);
  assert.equal(await world.condition("Synced"), "True ReconcileSuccess");
});

test("details that change, are tampered with or deleted are put right at the next poll, and only then written", async () => {
  let password = "one";
  await using world = worldWith(() => ({ ...present, connection: { password } }));
  await start(world);
  const written = (): number => world.effects.log.filter((what) => what.endsWith("Secret")).length;
  await world.clock.advance(10 * minute);
  assert.equal(written(), 1);
  password = "two";
  await world.clock.advance(2 * minute);
  assert.deepEqual((await world.secret())?.data, { password: "dHdv" });
  await world.user.mergePatch(secrets, secretRef, { data: { extra: "eA==" } });
  await world.clock.advance(2 * minute);
  assert.deepEqual((await world.secret())?.data, { password: "dHdv" });
  await world.user.delete(secrets, secretRef);
  await world.clock.advance(2 * minute);
  assert.deepEqual((await world.secret())?.data, { password: "dHdv" });
  assert.equal(written(), 4);
});

test("somebody else's Secret is neither changed nor deleted, and the condition says so until it is gone", async () => {
  await using world = worldWith(() => ({
    ...present,
    exists: !isDeleted,
    connection: { password: "p" },
  }));
  let isDeleted = false;
  const foreign = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: secretRef,
    type: "Opaque",
    data: { a: "YQ==" },
  };
  await world.user.create(secrets, foreign);
  await start(world);
  const problem = 'refusing to modify uncontrolled secret of type "Opaque"';
  const advice = `Secret ${secretRef.namespace}/${secretRef.name} was not made for this object; delete it, or choose another name`;
  assert.equal(
    await world.condition("Synced"),
    `False ReconcileError cannot create or update connection secret: ${problem}: ${advice}`,
  );
  assert.deepEqual((await world.secret())?.data, { a: "YQ==" });
  await world.user.delete(secrets, secretRef);
  await world.clock.advance(2 * minute);
  assert.equal(await world.condition("Synced"), "True ReconcileSuccess");
  assert.deepEqual((await world.secret())?.data, { password: "cA==" });
  await world.user.delete(secrets, secretRef);
  await world.user.create(secrets, foreign);
  isDeleted = true;
  await world.delete();
  await world.clock.advance(2 * minute);
  assert.equal(await world.managed(), undefined);
  assert.deepEqual((await world.secret())?.data, { a: "YQ==" });
});

test("an owner that is not the controller may not change it, nor may an object of the same name that came before", async () => {
  await using world = worldWith(() => ({ ...present, connection: { password: "p" } }));
  const owner = { apiVersion: "example.org/v1", kind: "Crate", name: "box", uid: "of-an-earlier-box" };
  await world.user.create(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...secretRef, ownerReferences: [{ ...owner, controller: true }] },
  });
  await start(world);
  assert.match((await world.condition("Synced")) ?? "", /refusing to modify uncontrolled secret/);
  assert.equal((await world.secret())?.data, undefined);
});

test("a connection that was revoked is removed before anything is created again", async () => {
  let observation: Observation = { ...present, connection: { password: "old" } };
  await using world = worldWith(() => observation);
  await start(world);
  observation = { exists: false, upToDate: false, ready: "creating", revoked: true };
  await world.clock.advance(2 * minute);
  assert.equal(await world.secret(), undefined);
  assert.equal(await world.condition("Ready"), "False Creating");
});

test("a Secret is missing only where one is asked for, and one of somebody else is not it", async () => {
  await using world = worldWith(() => present);
  await start(world);
  const managed = await world.managed();
  assert.ok(managed !== undefined);
  const { signal } = new AbortController();
  assert.equal(await connectionIsMissing(world.user, managed, { signal }), true);
  const without = { ...managed, spec: {} };
  assert.equal(await connectionIsMissing(world.user, without, { signal }), false);
  await world.user.create(secrets, { apiVersion: "v1", kind: "Secret", metadata: secretRef });
  assert.equal(await connectionIsMissing(world.user, managed, { signal }), true);
  const metadata = { ownerReferences: [controllerReference(managed)] };
  await world.user.mergePatch(secrets, secretRef, { metadata });
  assert.equal(await connectionIsMissing(world.user, managed, { signal }), false);
});

test("a Secret of ours without any details is filled", async () => {
  await using world = worldWith(() => ({ ...present, connection: { password: "p" } }));
  await start(world);
  await world.user.mergePatch(secrets, secretRef, { data: null });
  assert.equal((await world.secret())?.data, undefined);
  await world.clock.advance(2 * minute);
  assert.deepEqual((await world.secret())?.data, { password: "cA==" });
});

test("a deletion without a reference leaves every Secret alone", async () => {
  let exists = true;
  await using world = worldWith(() => ({ ...present, exists, connection: { password: "p" } }));
  await start(world);
  await world.patch({ spec: { writeConnectionSecretToRef: null } });
  await world.clock.advance(2 * minute);
  exists = false;
  await world.delete();
  await world.clock.advance(2 * minute);
  assert.equal(await world.managed(), undefined);
  assert.deepEqual((await world.secret())?.data, { password: "cA==" });
});
