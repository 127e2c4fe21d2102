import assert from "node:assert/strict";
import { test } from "node:test";
import { managedServiceBindings } from "@klutch/api";
import { type BindOutcome, OsbTransportError } from "@klutch/osb";
import { BindingWorld } from "../../testing/binding-world.ts";
import { refusal } from "../../testing/memory-bindings.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** A binding that is ready. */
async function ready(forProvider: object = {}): Promise<BindingWorld> {
  const world = new BindingWorld();
  await world.add(forProvider);
  world.start();
  await world.clock.advance(minute);
  assert.equal(await world.password(), "password 1");
  world.isWatched = true;
  return world;
}

test("another text brings new credentials, and the old ones work for an hour", async () => {
  await using world = await ready();
  await world.edit({ rotate: "1" });
  await world.clock.advance(minute);
  assert.equal(await world.password(), "password 2");
  assert.deepEqual([...world.broker.logins.values()], ["password 1", "password 2"]);
  const { request, rotatedAt, oldCredentialsUntil } = await world.rotation();
  assert.equal(request, "1");
  assert.equal(Date.parse(String(oldCredentialsUntil)) - Date.parse(String(rotatedAt)), hour);
  await world.clock.advance(hour + minute);
  assert.deepEqual([...world.broker.logins.values()], ["password 2"]);
  assert.deepEqual(Object.keys(await world.rotation()), ["request", "rotatedAt"]);
  assert.equal(await world.condition("Ready"), "True Available");
  assert.equal(await world.condition("Synced"), "True ReconcileSuccess");
});

test("the same text, its removal, and an initial text rotate nothing", async () => {
  await using world = await ready({ rotate: "a" });
  await world.edit({ rotate: null });
  await world.clock.advance(minute);
  await world.edit({ rotate: "a" });
  await world.clock.advance(hour);
  assert.equal(world.broker.binds.length, 1);
});

test("a grace time of 0 ends the old credentials as soon as the Secret has the new ones", async () => {
  await using world = await ready();
  await world.edit({ rotate: "1", rotateGraceSeconds: 0 });
  await world.clock.advance(second);
  assert.deepEqual([...world.broker.logins.values()], ["password 2"]);
  assert.deepEqual(world.broken, []);
});

test("a shorter grace time also ends credentials that were replaced before", async () => {
  await using world = await ready();
  await world.edit({ rotate: "1" });
  await world.clock.advance(10 * minute);
  assert.equal(world.broker.logins.size, 2);
  await world.edit({ rotateGraceSeconds: 60 });
  await world.clock.advance(second);
  assert.equal(world.broker.logins.size, 1);
});

test("requests that come while new credentials are on their way are answered by these", async () => {
  await using world = await ready();
  world.broker.isSlow = true;
  await world.edit({ rotate: "1" });
  await world.clock.advance(500);
  await world.edit({ rotate: "2" });
  await world.clock.advance(10 * minute);
  assert.equal(world.broker.logins.size, 2);
  assert.equal((await world.rotation())["request"], "2");
  assert.equal(await world.condition("Ready"), "True Available");
});

test("many rotations in a row wait for old credentials to end, and say until when", async () => {
  await using world = await ready();
  for (let count = 1; count <= 7; count++) {
    await world.edit({ rotate: String(count) });
    await world.clock.advance(minute);
  }
  assert.equal(world.broker.logins.size, 6);
  const message = /^False RotationIncomplete the credentials cannot be rotated now: 5 older ones still work/;
  assert.match(await world.condition("Synced"), message);
  assert.equal(await world.condition("Ready"), "True Available");
  await world.clock.advance(hour);
  assert.equal((await world.rotation())["request"], "7");
  await world.clock.advance(2 * hour);
  assert.equal(world.broker.logins.size, 1);
});

test("deleting the binding unbinds all generations", async () => {
  for (const isSlow of [false, true]) {
    await using world = await ready();
    await world.edit({ rotate: "1" });
    await world.clock.advance(minute);
    await world.edit({ rotate: "2" });
    await world.clock.advance(minute);
    world.broker.isSlow = isSlow;
    await world.edit({ rotate: "3" });
    await world.clock.advance(isSlow ? 200 : minute);
    await world.delete();
    await world.clock.advance(10 * minute);
    assert.equal(world.broker.logins.size, 0);
    assert.equal(await world.binding(), undefined);
  }
});

test("a broker that rotates by itself is told which binding comes before", async () => {
  await using world = await ready();
  world.broker.isRotatable = true;
  await world.edit({ rotate: "1" });
  await world.clock.advance(minute);
  const [first, next] = world.broker.binds;
  assert.equal(first?.predecessorBindingId, undefined);
  assert.equal(next?.predecessorBindingId, first?.bindingId);
  assert.notEqual(next?.bindingId, first?.bindingId);
});

test("a broker of an older version that calls its plan rotatable is asked without the predecessor", async () => {
  await using world = await ready();
  world.broker.isRotatable = true;
  world.broker.lie = ({ predecessorBindingId }) =>
    predecessorBindingId === undefined ? undefined : new OsbTransportError("NotSent", "needs 2.17");
  await world.edit({ rotate: "1" });
  await world.clock.advance(minute);
  assert.equal(await world.password(), "password 2");
});

test("a binding of the existing provider keeps its id and is rotated like any other", async () => {
  await using world = new BindingWorld();
  await world.add({}, { "anynines.crossplane.io/servicebinding-created": "true" });
  const uid = (await world.binding())?.metadata.uid ?? "";
  world.broker.logins.set(uid, "made before");
  await world.user.mergePatch(
    managedServiceBindings,
    { name: "b" },
    { status: { atProvider: { state: "Created", instanceId: "i", serviceID: "s", planID: "p" } } },
    { subresource: "status" },
  );
  world.start();
  await world.clock.advance(minute);
  assert.equal(await world.password(), "made before");
  assert.deepEqual(world.broker.binds, []);
  await world.edit({ rotate: "1" });
  await world.clock.advance(2 * hour);
  assert.deepEqual([...world.broker.logins.values()], ["password 1"]);
  assert.deepEqual(world.broker.unbinds, [uid]);
});

const garbage = new OsbTransportError("Garbage", "the answer is no JSON", 201);
const done = (credentials: Readonly<Record<string, unknown>>): BindOutcome => ({ kind: "done", credentials });
/** One behaviour of a broker, and what the claim reports. */
const lies: readonly (readonly [string, BindOutcome | Error, RegExp])[] = [
  ["refuses", refusal(400, "no more logins"), /no more logins/],
  ["is out of order", refusal(500, "oops"), /oops/],
  ["gives no credentials", done({}), /gave no credentials/],
  ["gives credentials without values", done({ user: "", password: null }), /without password, user$/],
  ["gives half of the credentials", done({ user: "u" }), /without password$/],
  ["answers garbage", garbage, /no JSON/],
];
for (const [what, lie, words] of lies) {
  test(`a broker that ${what} leaves the old credentials as they are and is asked again`, async () => {
    await using world = await ready();
    world.broker.lie = () => lie;
    await world.edit({ rotate: "1" });
    await world.clock.advance(20 * minute);
    assert.equal(await world.password(), "password 1");
    assert.equal(await world.condition("Ready"), "True Available");
    assert.match(await world.condition("Synced"), /^False RotationIncomplete the credentials could not be/);
    assert.match(await world.condition("Synced"), words);
    assert.equal((await world.rotation())["pending"], true);
    assert.ok(world.broker.binds.length <= 12, `${world.broker.binds.length} binds in 20 minutes`);
    assert.equal(new Set(world.broker.binds.map(({ bindingId }) => bindingId)).size, 2);
    world.broker.lie = undefined;
    await world.edit({ rotate: "2" });
    await world.clock.advance(15 * minute);
    assert.equal(await world.condition("Synced"), "True ReconcileSuccess");
    await world.clock.advance(hour);
    assert.equal(world.broker.logins.size, 1);
    assert.deepEqual(world.broken, []);
  });
}

test("a broker that gives the old credentials again has rotated nothing, and what it made is unbound", async () => {
  await using world = await ready();
  const uid = world.broker.binds[0]?.bindingId ?? "";
  world.broker.lie = () => done({ user: uid, password: "password 1" });
  await world.edit({ rotate: "1" });
  await world.clock.advance(second);
  assert.match(await world.condition("Synced"), /: the broker gave the same credentials again$/);
  assert.equal(world.broker.logins.has(uid), true);
});

test("a request that is taken back while it fails is forgotten", async () => {
  await using world = await ready();
  world.broker.lie = () => refusal(400, "no more logins");
  await world.edit({ rotate: "1" });
  await world.clock.advance(minute);
  await world.edit({ rotate: null });
  await world.clock.advance(minute);
  assert.equal(await world.condition("Synced"), "True ReconcileSuccess");
  assert.deepEqual(await world.rotation(), {});
});

test("a bind that ends as failed is unbound, says why, and is tried again with the same id", async () => {
  await using world = await ready();
  world.broker.isSlow = true;
  world.broker.endsAs = "failed";
  await world.edit({ rotate: "1" });
  await world.clock.advance(5 * second);
  assert.match(await world.condition("Synced"), /could not be rotated: no more logins$/);
  world.broker.endsAs = "succeeded";
  await world.clock.advance(10 * minute);
  assert.equal((await world.rotation())["request"], "1");
  assert.equal(new Set(world.broker.binds.map(({ bindingId }) => bindingId)).size, 2);
});

test("a record that cannot be read stops everything, for it may name logins that nothing else remembers", async () => {
  await using world = await ready();
  const annotations = { "anynines.crossplane.io/binding-generations": '{"current":1}' };
  await world.user.mergePatch(managedServiceBindings, { name: "b" }, { metadata: { annotations } });
  await world.clock.advance(2 * minute);
  assert.match(
    await world.condition("Synced"),
    /^False ReconcileError connect failed: the annotation .* cannot be read/,
  );
  assert.equal(await world.password(), "password 1");
});
