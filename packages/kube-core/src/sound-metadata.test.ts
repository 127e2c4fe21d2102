import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { soundMetadata } from "./sound-metadata.ts";

const owner = { apiVersion: "v1", kind: "Namespace", name: "team", uid: "u" };
const sound = {
  name: "a",
  namespace: "team",
  uid: "u",
  resourceVersion: "7",
  generation: 3,
  labels: { team: "x" },
  annotations: {},
  finalizers: ["f"],
  ownerReferences: [owner],
  managedFields: [{ manager: "m" }],
};

test("sound metadata is given back as it is", () => {
  assert.equal(soundMetadata(sound), sound);
  const other = { ...sound, selfLink: 5 };
  assert.equal(soundMetadata(other), other);
});

test("a field of a wrong type is as if it had not been sent, and the others stay", () => {
  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    name: [1, null, {}],
    generation: ["3", null],
    deletionTimestamp: [null, 0, true],
    labels: [[], "x", { team: 1 }, { team: null }],
    finalizers: ["f", [1], { length: 1 }],
    ownerReferences: [[null], [{ ...owner, uid: 1 }], owner],
    managedFields: [[1], {}],
  };
  for (const [field, values] of Object.entries(wrong)) {
    const rest = Object.fromEntries(Object.entries(sound).filter(([name]) => name !== field));
    for (const value of values)
      assert.deepEqual(
        soundMetadata({ ...sound, [field]: value }),
        rest,
        `${field}: ${JSON.stringify(value)}`,
      );
  }
});

test("what comes out is sound, whatever went in", () => {
  const names = fc.constantFrom(...Object.keys(sound), "deletionTimestamp", "generateName");
  const anything = fc.oneof(fc.jsonValue(), fc.constantFrom(...Object.values(sound)));
  fc.assert(
    fc.property(fc.dictionary(names, anything), (metadata) => {
      const once = soundMetadata(metadata);
      assert.equal(soundMetadata(once), once);
      for (const name of Object.keys(once)) assert.equal(once[name], metadata[name]);
    }),
  );
});
