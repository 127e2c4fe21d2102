import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerReference, secrets } from "@klutch/kube-core";
import { present, secretRef, Fixture } from "../testing/managed-fixture.ts";
import { connectionIsMissing } from "./connection-secret.ts";
import type { ExternalClient, Observation } from "./external.ts";

const minute = 60_000;

/** A fixture whose backend gives the connection that `connection` holds at that time. */
function fixtureWith(observation: () => Observation): Fixture {
  const nothing = async (): Promise<void> => {};
  const client: ExternalClient = {
    observe: async () => observation(),
    create: nothing,
    update: nothing,
    delete: nothing,
  };
  return new Fixture({ reconciler: { connect: async () => client } });
}

async function start(fixture: Fixture, spec: object = {}): Promise<void> {
  fixture.start();
  await fixture.create({ spec });
  await fixture.clock.advance(2 * minute);
}

test("the Secret has Crossplane's type, the details and the managed resource as its controller", async () => {
  await using fixture = fixtureWith(() => ({ ...present, connection: { username: "u", password: "ä" } }));
  await start(fixture);
  const [secret, managed] = [await fixture.secret(), await fixture.managed()];
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
    await using fixture = fixtureWith(() => ({ ...present, connection: details }));
    await start(fixture);
    assert.equal(await fixture.secret(), undefined);
    details = { password: "p" };
    await fixture.clock.advance(2 * minute);
    details = connection;
    await fixture.clock.advance(2 * minute);
    assert.deepEqual((await fixture.secret())?.data, { password: "cA==" });
  });
}

test("without a reference nothing is published", async () => {
  await using fixture = fixtureWith(() => ({ ...present, connection: { password: "p" } }));
  await start(fixture, { writeConnectionSecretToRef: undefined });
  assert.equal(await fixture.secret(), undefined);
  assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
});

test("details that change, are tampered with or deleted are put right at the next poll, and only then written", async () => {
  let password = "one";
  await using fixture = fixtureWith(() => ({ ...present, connection: { password } }));
  await start(fixture);
  const written = (): number => fixture.effects.log.filter((what) => what.endsWith("Secret")).length;
  await fixture.clock.advance(10 * minute);
  assert.equal(written(), 1);
  password = "two";
  await fixture.clock.advance(2 * minute);
  assert.deepEqual((await fixture.secret())?.data, { password: "dHdv" });
  await fixture.user.mergePatch(secrets, secretRef, { data: { extra: "eA==" } });
  await fixture.clock.advance(2 * minute);
  assert.deepEqual((await fixture.secret())?.data, { password: "dHdv" });
  await fixture.user.delete(secrets, secretRef);
  await fixture.clock.advance(2 * minute);
  assert.deepEqual((await fixture.secret())?.data, { password: "dHdv" });
  assert.equal(written(), 4);
});

test("somebody else's Secret is neither changed nor deleted, and the condition says so until it is gone", async () => {
  await using fixture = fixtureWith(() => ({
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
  await fixture.user.create(secrets, foreign);
  await start(fixture);
  const problem = 'refusing to modify uncontrolled secret of type "Opaque"';
  const advice = `Secret ${secretRef.namespace}/${secretRef.name} was not made for this object; delete it, or choose another name`;
  assert.equal(
    await fixture.condition("Synced"),
    `False ReconcileError cannot create or update connection secret: ${problem}: ${advice}`,
  );
  assert.deepEqual((await fixture.secret())?.data, { a: "YQ==" });
  await fixture.user.delete(secrets, secretRef);
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
  assert.deepEqual((await fixture.secret())?.data, { password: "cA==" });
  await fixture.user.delete(secrets, secretRef);
  await fixture.user.create(secrets, foreign);
  isDeleted = true;
  await fixture.delete();
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.managed(), undefined);
  assert.deepEqual((await fixture.secret())?.data, { a: "YQ==" });
});

test("an owner that is not the controller may not change it, nor may an object of the same name that came before", async () => {
  await using fixture = fixtureWith(() => ({ ...present, connection: { password: "p" } }));
  const owner = { apiVersion: "example.org/v1", kind: "Crate", name: "box", uid: "of-an-earlier-box" };
  await fixture.user.create(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...secretRef, ownerReferences: [{ ...owner, controller: true }] },
  });
  await start(fixture);
  assert.match((await fixture.condition("Synced")) ?? "", /refusing to modify uncontrolled secret/);
  assert.equal((await fixture.secret())?.data, undefined);
});

test("a connection that was revoked is removed before anything is created again", async () => {
  let observation: Observation = { ...present, connection: { password: "old" } };
  await using fixture = fixtureWith(() => observation);
  await start(fixture);
  observation = { exists: false, upToDate: false, ready: "creating", revoked: true };
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.secret(), undefined);
  assert.equal(await fixture.condition("Ready"), "False Creating");
});

test("a Secret is missing only where one is asked for, and one of somebody else is not it", async () => {
  await using fixture = fixtureWith(() => present);
  await start(fixture);
  const managed = await fixture.managed();
  assert.ok(managed !== undefined);
  const { signal } = new AbortController();
  assert.equal(await connectionIsMissing(fixture.user, managed, { signal }), true);
  const without = { ...managed, spec: {} };
  assert.equal(await connectionIsMissing(fixture.user, without, { signal }), false);
  await fixture.user.create(secrets, { apiVersion: "v1", kind: "Secret", metadata: secretRef });
  assert.equal(await connectionIsMissing(fixture.user, managed, { signal }), true);
  const metadata = { ownerReferences: [controllerReference(managed)] };
  await fixture.user.mergePatch(secrets, secretRef, { metadata });
  assert.equal(await connectionIsMissing(fixture.user, managed, { signal }), false);
});

test("a Secret of ours without any details is filled", async () => {
  await using fixture = fixtureWith(() => ({ ...present, connection: { password: "p" } }));
  await start(fixture);
  await fixture.user.mergePatch(secrets, secretRef, { data: null });
  assert.equal((await fixture.secret())?.data, undefined);
  await fixture.clock.advance(2 * minute);
  assert.deepEqual((await fixture.secret())?.data, { password: "cA==" });
});

test("a deletion without a reference leaves every Secret alone", async () => {
  let exists = true;
  await using fixture = fixtureWith(() => ({ ...present, exists, connection: { password: "p" } }));
  await start(fixture);
  await fixture.patch({ spec: { writeConnectionSecretToRef: null } });
  await fixture.clock.advance(2 * minute);
  exists = false;
  await fixture.delete();
  await fixture.clock.advance(2 * minute);
  assert.equal(await fixture.managed(), undefined);
  assert.deepEqual((await fixture.secret())?.data, { password: "cA==" });
});
