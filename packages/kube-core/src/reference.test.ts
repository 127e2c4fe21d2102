import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { keyOf, keyOfRef, type ObjectRef, refOf, refOfObject } from "./reference.ts";

const name = fc.stringMatching(/^[a-z0-9]([-.a-z0-9]{0,20}[a-z0-9])?$/);
const ref: fc.Arbitrary<ObjectRef> = fc.oneof(
  name.map((text) => ({ name: text })),
  fc.tuple(name, name).map(([namespace, own]) => ({ namespace, name: own })),
);

test("a reference survives being made a key and read again", () => {
  fc.assert(
    fc.property(ref, (one) => {
      assert.deepEqual(refOf(keyOfRef(one)), one);
      assert.deepEqual(refOfObject({ metadata: one }), one);
      assert.equal(keyOf({ metadata: one }), keyOfRef(one));
    }),
  );
});

test("two references have one key only when they are the same", () => {
  fc.assert(
    fc.property(ref, ref, (one, other) => {
      const isSame = one.namespace === other.namespace && one.name === other.name;
      assert.equal(keyOfRef(one) === keyOfRef(other), isSame);
    }),
  );
});

test("a cluster-scoped object's reference has no field for the namespace", () => {
  assert.deepEqual(Object.keys(refOfObject({ metadata: { name: "a", namespace: undefined } })), ["name"]);
});

test("an object without a name has an empty one", () => {
  assert.deepEqual(refOfObject({ metadata: { namespace: "team" } }), { namespace: "team", name: "" });
  assert.equal(keyOf({ metadata: {} }), "");
});
