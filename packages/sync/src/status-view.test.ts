import assert from "node:assert/strict";
import { test } from "node:test";
import { recordAt, recordsAt, valueAt } from "@klutch/kube-core";
import { isFresh } from "./status-conditions.ts";
import { ignoresGenerations, plainView, statusViewOf, withStatusDefault } from "./status-view.ts";

const text = { type: "string" };
const standard = {
  type: text,
  status: { type: "string", enum: ["True", "False", "Unknown"] },
  reason: {
    type: "string",
    minLength: 1,
    maxLength: 1024,
    pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
  },
  message: { type: "string", maxLength: 32768 },
  lastTransitionTime: { type: "string", format: "date-time" },
  observedGeneration: { type: "integer", minimum: 0 },
};
const schemaOf = (status: object): object => ({
  type: "object",
  properties: { status: { type: "object", ...status } },
});
const withConditions = (item: object, list: object = {}): object =>
  schemaOf({ properties: { conditions: { type: "array", items: { type: "object", ...item }, ...list } } });
const view = (schema: object): ReturnType<typeof statusViewOf> =>
  statusViewOf(schema as Readonly<Record<string, unknown>>, { isSubresource: true, isIgnored: false });

test("the view of standard conditions has all their fields", () => {
  const required = ["type", "status", "reason", "message", "lastTransitionTime"];
  const seen = view(
    withConditions(
      { properties: standard, required },
      { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] },
    ),
  );
  const fields = ["lastTransitionTime", "message", "observedGeneration", "reason"];
  assert.deepEqual(seen, { ...plainView, conditions: fields, mayBeUnknown: true });
});

test("a status without the needed fields is copied as it is", () => {
  for (const schema of [
    {},
    schemaOf({}),
    schemaOf({ "x-kubernetes-preserve-unknown-fields": true }),
    schemaOf({ properties: { observedGeneration: text, conditions: { type: "array", items: text } } }),
    withConditions({ properties: { type: text, status: { type: "boolean" } } }),
    withConditions({ properties: standard }, { type: "object" }),
  ])
    assert.deepEqual(view(schema), plainView);
});

const refusing = {
  "a status that cannot be Unknown": {
    properties: { ...standard, status: { type: "string", enum: ["True", "False"] } },
  },
  "a field that we do not know is required": {
    properties: { ...standard, severity: text },
    required: ["severity"],
  },
  "reasons are a closed set": {
    properties: { ...standard, reason: { type: "string", enum: ["Available"] } },
  },
  "messages are short": { properties: { ...standard, message: { type: "string", maxLength: 80 } } },
};
for (const [what, item] of Object.entries(refusing)) {
  test(`nothing is made that the schema refuses: ${what}`, () => {
    const { conditions, mayBeUnknown } = view(withConditions(item));
    assert.ok(conditions?.includes("observedGeneration"));
    assert.equal(mayBeUnknown, false);
  });
}

const number = { observedGeneration: { type: "integer", format: "int64" } };
const version = (status: object, more: object = {}): Readonly<Record<string, unknown>> => ({
  name: "v1",
  subresources: { status: {} },
  schema: { openAPIV3Schema: { ...schemaOf(status), ...more } },
});

test("a status with a number gets a default, so that a fresh claim is not taken for one that is finished", () => {
  const given = version({ properties: number });
  assert.match(JSON.stringify(withStatusDefault(given)), /"default":\{"observedGeneration":-1\}/);
  assert.equal(JSON.stringify(given).includes("default"), false);
});

const withReady = {
  properties: { ...number, conditions: { type: "array", items: { type: "object", properties: standard } } },
};
const defaultOf = (given: Readonly<Record<string, unknown>>): unknown =>
  valueAt(withStatusDefault(given), "schema", "openAPIV3Schema", "properties", "status", "default");

test("a status with conditions gets one that says that no konnector has seen the claim, with or without a number", () => {
  const whole = recordAt(defaultOf(version(withReady)));
  assert.equal(whole["observedGeneration"], -1);
  const [ready, ...others] = recordsAt(whole, "conditions");
  assert.deepEqual(
    [ready?.["type"], ready?.["status"], ready?.["reason"], others.length],
    ["Ready", "Unknown", "SpecNotSent", 0],
  );
  assert.match(String(ready?.["message"]), /^no konnector has looked at this claim yet/);
  const { observedGeneration: _none, ...properties } = withReady.properties;
  assert.deepEqual(defaultOf(version({ properties })), { conditions: [ready] });
  for (const fresh of [whole, { conditions: [ready] }, { observedGeneration: -1 }])
    assert.equal(isFresh(fresh), true, JSON.stringify(fresh));
  const written = { ...ready, lastTransitionTime: "2026-01-01T00:00:00Z" };
  for (const other of [
    {},
    { conditions: [] },
    { conditions: [written] },
    { ...whole, observedGeneration: 0 },
  ])
    assert.equal(isFresh(other), false, JSON.stringify(other));
});

test("a status whose conditions cannot say it keeps the number alone", () => {
  const refusing = { ...standard, reason: { type: "string", enum: ["Available"] } };
  const conditions = { type: "array", items: { type: "object", properties: refusing } };
  assert.deepEqual(defaultOf(version({ properties: { ...number, conditions } })), { observedGeneration: -1 });
  const ruled = {
    ...withReady.properties.conditions,
    "x-kubernetes-validations": [{ rule: "self.size() > 1" }],
  };
  assert.deepEqual(defaultOf(version({ properties: { ...number, conditions: ruled } })), {
    observedGeneration: -1,
  });
});

const spoiling: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "there is no such number": version({ properties: { count: { type: "integer" } } }),
  "it has a default": version({ properties: number, default: {} }),
  "the number has one": version({ properties: { observedGeneration: { type: "integer", default: 0 } } }),
  "the number cannot be negative": version({
    properties: { observedGeneration: { type: "integer", minimum: 0 } },
  }),
  "another field is required": version({ properties: { ...number, phase: text }, required: ["phase"] }),
  "it has rules": version({ properties: number, "x-kubernetes-validations": [{ rule: "has(self.phase)" }] }),
  "rules of the object speak of it": version(
    { properties: number },
    { "x-kubernetes-validations": [{ rule: "!has(self.status)" }] },
  ),
  "it is not written apart": { ...version({ properties: number }), subresources: {} },
};
for (const [what, given] of Object.entries(spoiling)) {
  test(`a status gets no default when ${what}`, () => {
    assert.deepEqual(withStatusDefault(given), given);
  });
}

test("only the word ignore in an export's annotation makes generations mean nothing", () => {
  const says = (word: string): boolean =>
    ignoresGenerations({ annotations: { "klutch.anynines.com/observed-generation": word } });
  assert.deepEqual([says("ignore"), says("reliable"), says("")], [true, false, false]);
  assert.ok(!ignoresGenerations({}));
});
