import assert from "node:assert/strict";
import { test } from "node:test";
import { managedServiceBindings } from "@klutch/api";
import { type BindOutcome, OsbTransportError } from "@klutch/osb";
import { BindingFixture } from "../../testing/binding-fixture.ts";
import { refusal } from "../../testing/memory-bindings.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** A binding that is ready. */
async function ready(forProvider: object = {}): Promise<BindingFixture> {
  const fixture = new BindingFixture();
  await fixture.add(forProvider);
  fixture.start();
  await fixture.clock.advance(minute);
  assert.equal(await fixture.password(), "password 1");
  fixture.isWatched = true;
  return fixture;
}

test("another text brings new credentials, and the old ones work for an hour", async () => {
  await using fixture = await ready();
  await fixture.edit({ rotate: "1" });
  await fixture.clock.advance(minute);
  assert.equal(await fixture.password(), "password 2");
  assert.deepEqual([...fixture.broker.logins.values()], ["password 1", "password 2"]);
  const { request, rotatedAt, oldCredentialsUntil } = await fixture.rotation();
  assert.equal(request, "1");
  assert.equal(Date.parse(String(oldCredentialsUntil)) - Date.parse(String(rotatedAt)), hour);
  await fixture.clock.advance(hour + minute);
  assert.deepEqual([...fixture.broker.logins.values()], ["password 2"]);
  assert.deepEqual(Object.keys(await fixture.rotation()), ["request", "rotatedAt"]);
  assert.equal(await fixture.condition("Ready"), "True Available");
  assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
});

test("the same text, its removal, and an initial text rotate nothing", async () => {
  await using fixture = await ready({ rotate: "a" });
  await fixture.edit({ rotate: null });
  await fixture.clock.advance(minute);
  await fixture.edit({ rotate: "a" });
  await fixture.clock.advance(hour);
  assert.equal(fixture.broker.binds.length, 1);
});

test("a grace time of 0 ends the old credentials as soon as the Secret has the new ones", async () => {
  await using fixture = await ready();
  await fixture.edit({ rotate: "1", rotateGraceSeconds: 0 });
  await fixture.clock.advance(second);
  assert.deepEqual([...fixture.broker.logins.values()], ["password 2"]);
  assert.deepEqual(fixture.broken, []);
});

test("a shorter grace time also ends credentials that were replaced before", async () => {
  await using fixture = await ready();
  await fixture.edit({ rotate: "1" });
  await fixture.clock.advance(10 * minute);
  assert.equal(fixture.broker.logins.size, 2);
  await fixture.edit({ rotateGraceSeconds: 60 });
  await fixture.clock.advance(second);
  assert.equal(fixture.broker.logins.size, 1);
});

test("requests that come while new credentials are on their way are answered by these", async () => {
  await using fixture = await ready();
  fixture.broker.isSlow = true;
  await fixture.edit({ rotate: "1" });
  await fixture.clock.advance(500);
  await fixture.edit({ rotate: "2" });
  await fixture.clock.advance(10 * minute);
  assert.equal(fixture.broker.logins.size, 2);
  assert.equal((await fixture.rotation())["request"], "2");
  assert.equal(await fixture.condition("Ready"), "True Available");
});

test("many rotations in a row wait for old credentials to end, and say until when", async () => {
  await using fixture = await ready();
  for (let count = 1; count <= 7; count++) {
    await fixture.edit({ rotate: String(count) });
    await fixture.clock.advance(minute);
  }
  assert.equal(fixture.broker.logins.size, 6);
  const message = /^False RotationIncomplete the credentials cannot be rotated now: 5 older ones still work/;
  assert.match(await fixture.condition("Synced"), message);
  assert.equal(await fixture.condition("Ready"), "True Available");
  await fixture.clock.advance(hour);
  assert.equal((await fixture.rotation())["request"], "7");
  await fixture.clock.advance(2 * hour);
  assert.equal(fixture.broker.logins.size, 1);
});

test("deleting the binding unbinds all generations", async () => {
  for (const isSlow of [false, true]) {
    await using fixture = await ready();
    await fixture.edit({ rotate: "1" });
    await fixture.clock.advance(minute);
    await fixture.edit({ rotate: "2" });
    await fixture.clock.advance(minute);
    fixture.broker.isSlow = isSlow;
    await fixture.edit({ rotate: "3" });
    await fixture.clock.advance(isSlow ? 200 : minute);
    await fixture.delete();
    await fixture.clock.advance(10 * minute);
    assert.equal(fixture.broker.logins.size, 0);
    assert.equal(await fixture.binding(), undefined);
  }
});

test("a broker that rotates by itself is told which binding comes before", async () => {
  await using fixture = await ready();
  fixture.broker.isRotatable = true;
  await fixture.edit({ rotate: "1" });
  await fixture.clock.advance(minute);
  const [first, next] = fixture.broker.binds;
  assert.equal(first?.predecessorBindingId, undefined);
  assert.equal(next?.predecessorBindingId, first?.bindingId);
  assert.notEqual(next?.bindingId, first?.bindingId);
});

test("a broker of an older version that calls its plan rotatable is asked without the predecessor", async () => {
  await using fixture = await ready();
  fixture.broker.isRotatable = true;
  fixture.broker.lie = ({ predecessorBindingId }) =>
    predecessorBindingId === undefined ? undefined : new OsbTransportError("NotSent", "needs 2.17");
  await fixture.edit({ rotate: "1" });
  await fixture.clock.advance(minute);
  assert.equal(await fixture.password(), "password 2");
});

test("a binding of the existing provider keeps its id and is rotated like any other", async () => {
  await using fixture = new BindingFixture();
  await fixture.add({}, { "anynines.crossplane.io/servicebinding-created": "true" });
  const uid = (await fixture.binding())?.metadata.uid ?? "";
  fixture.broker.logins.set(uid, "made before");
  await fixture.user.mergePatch(
    managedServiceBindings,
    { name: "b" },
    { status: { atProvider: { state: "Created", instanceId: "i", serviceID: "s", planID: "p" } } },
    { subresource: "status" },
  );
  fixture.start();
  await fixture.clock.advance(minute);
  assert.equal(await fixture.password(), "made before");
  assert.deepEqual(fixture.broker.binds, []);
  await fixture.edit({ rotate: "1" });
  await fixture.clock.advance(2 * hour);
  assert.deepEqual([...fixture.broker.logins.values()], ["password 1"]);
  assert.deepEqual(fixture.broker.unbinds, [uid]);
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
    await using fixture = await ready();
    fixture.broker.lie = () => lie;
    await fixture.edit({ rotate: "1" });
    await fixture.clock.advance(20 * minute);
    assert.equal(await fixture.password(), "password 1");
    assert.equal(await fixture.condition("Ready"), "True Available");
    assert.match(await fixture.condition("Synced"), /^False RotationIncomplete the credentials could not be/);
    assert.match(await fixture.condition("Synced"), words);
    assert.equal((await fixture.rotation())["pending"], true);
    assert.ok(fixture.broker.binds.length <= 12, `${fixture.broker.binds.length} binds in 20 minutes`);
    assert.equal(new Set(fixture.broker.binds.map(({ bindingId }) => bindingId)).size, 2);
    fixture.broker.lie = undefined;
    await fixture.edit({ rotate: "2" });
    await fixture.clock.advance(15 * minute);
    assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
    await fixture.clock.advance(hour);
    assert.equal(fixture.broker.logins.size, 1);
    assert.deepEqual(fixture.broken, []);
  });
}

test("a broker that gives the old credentials again has rotated nothing, and what it made is unbound", async () => {
  await using fixture = await ready();
  const uid = fixture.broker.binds[0]?.bindingId ?? "";
  fixture.broker.lie = () => done({ user: uid, password: "password 1" });
  await fixture.edit({ rotate: "1" });
  await fixture.clock.advance(second);
  assert.match(await fixture.condition("Synced"), /: the broker gave the same credentials again$/);
  assert.equal(fixture.broker.logins.has(uid), true);
});

test("a request that is taken back while it fails is forgotten", async () => {
  await using fixture = await ready();
  fixture.broker.lie = () => refusal(400, "no more logins");
  await fixture.edit({ rotate: "1" });
  await fixture.clock.advance(minute);
  await fixture.edit({ rotate: null });
  await fixture.clock.advance(minute);
  assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
  assert.deepEqual(await fixture.rotation(), {});
});

test("a bind that ends as failed is unbound, says why, and is tried again with the same id", async () => {
  await using fixture = await ready();
  fixture.broker.isSlow = true;
  fixture.broker.endsAs = "failed";
  await fixture.edit({ rotate: "1" });
  await fixture.clock.advance(5 * second);
  assert.match(await fixture.condition("Synced"), /could not be rotated: no more logins$/);
  fixture.broker.endsAs = "succeeded";
  await fixture.clock.advance(10 * minute);
  assert.equal((await fixture.rotation())["request"], "1");
  assert.equal(new Set(fixture.broker.binds.map(({ bindingId }) => bindingId)).size, 2);
});

test("a record that cannot be read stops everything, for it may name logins that nothing else remembers", async () => {
  await using fixture = await ready();
  const annotations = { "anynines.crossplane.io/binding-generations": '{"current":1}' };
  await fixture.user.mergePatch(managedServiceBindings, { name: "b" }, { metadata: { annotations } });
  await fixture.clock.advance(2 * minute);
  assert.match(
    await fixture.condition("Synced"),
    /^False ReconcileError connect failed: the annotation .* cannot be read/,
  );
  assert.equal(await fixture.password(), "password 1");
});
