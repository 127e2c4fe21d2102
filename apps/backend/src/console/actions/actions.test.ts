import assert from "node:assert/strict";
import { test } from "node:test";
import { type APIServiceExport, type Grant, revokedAnnotation, WireError } from "@klutch/api";
import { actionNameOf, actionRequest } from "./action-request.ts";
import { endsOf, wordsOf } from "./revoke-grant.ts";

const grant = (name: string, resource: string, more: object = {}): Grant => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "Grant",
  metadata: { namespace: "shop", name, uid: `uid-${name}`, resourceVersion: "7", ...more },
  spec: {
    identity: { issuer: "https://issuer.example", subject: name, user: `oidc:${name}` },
    api: { group: "example.org", resource },
    template: { namespace: "default", name: resource },
    boundAt: "2026-11-28T10:00:00Z",
  },
});
const exported = (name: string, isRevoked = false): APIServiceExport => {
  const annotations = isRevoked ? { [revokedAnnotation]: "2026-11-28T10:00:00Z" } : {};
  return { metadata: { namespace: "shop", name, annotations } } as unknown as APIServiceExport;
};
const going = { deletionTimestamp: "2026-11-28T10:00:00Z" };

test("an API ends with its last Grant, and the app cluster with its last API", () => {
  const exports = [exported("databases.example.org"), exported("queues.example.org")];
  const [ann, bob, queue] = [grant("ann", "databases"), grant("bob", "databases"), grant("cy", "queues")];
  const end = (names: readonly string[], records: readonly Grant[], own = exports): unknown =>
    endsOf(names, { records, exports: own });
  const databases = ["databases.example.org"];
  assert.deepEqual(end(["ann"], [ann, bob, queue]), { ends: [], isEnd: false });
  assert.deepEqual(end(["ann", "bob"], [ann, bob, queue]), { ends: databases, isEnd: false });
  // A Grant that is being deleted keeps nothing.
  assert.deepEqual(end(["ann"], [ann, grant("bob", "databases", going), queue]), {
    ends: databases,
    isEnd: false,
  });
  // An API that was bound before there were Grants has none, and goes on.
  assert.deepEqual(end(["ann"], [ann]), { ends: databases, isEnd: false });
  const revoked = [exported("databases.example.org"), exported("queues.example.org", true)];
  assert.deepEqual(end(["ann"], [ann], revoked), { ends: databases, isEnd: true });
});

test("a confirmation is of one version of the Grant and of what follows from it", () => {
  const exports = [exported("databases.example.org")];
  const [ann, bob] = [grant("ann", "databases"), grant("bob", "databases")];
  const states = [
    wordsOf(ann, { records: [ann, bob], exports }),
    wordsOf(ann, { records: [ann], exports }),
    wordsOf(grant("ann", "databases", { resourceVersion: "8" }), { records: [ann, bob], exports }),
    wordsOf(grant("ann", "databases", { uid: "another" }), { records: [ann, bob], exports }),
  ].map(({ state }) => state);
  assert.equal(new Set(states).size, states.length, states.join());
});

test("names of strangers come out on one line and bounded", () => {
  const flood = grant("x", "databases");
  const identity = { ...flood.spec.identity, displayName: `<b>\u202e\n\u0000${"n".repeat(10_000)}` };
  const evil = { ...flood, spec: { ...flood.spec, identity } };
  const { title, consequences, did } = wordsOf(evil, { records: [evil], exports: [] });
  for (const text of [title, did, ...consequences]) {
    assert.ok(text.length < 1_000, `${text.length}`);
    assert.doesNotMatch(text, /[\p{Cc}\p{Cf}]/u);
  }
});

test("a confirmation of another form is refused with the name of the field", () => {
  assert.deepEqual(actionRequest({ row: "a/b", token: "t" }), { row: "a/b", token: "t" });
  const faults: readonly (readonly [unknown, RegExp])[] = [
    [null, /body: must be an object/],
    [[], /body: must be an object/],
    [{ row: "a/b" }, /token: must be a text of 1 to 4096/],
    [{ row: "", token: "t" }, /row: must be a text of 1 to 1000/],
    [{ row: "x".repeat(1_001), token: "t" }, /row: must be/],
    [{ row: "a/b", token: "x".repeat(4_097) }, /token: must be/],
    [{ row: "a/b", token: { $ne: "" } }, /token: must be/],
    [JSON.parse('{"row":"a/b","token":"t","__proto__":{}}'), /"__proto__": is not a field/],
  ];
  for (const [value, words] of faults)
    assert.throws(
      () => actionRequest(value),
      (error) => error instanceof WireError && words.test(error.message),
    );
  assert.equal(actionNameOf("constructor"), undefined);
});
