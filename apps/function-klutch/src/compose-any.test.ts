import assert from "node:assert/strict";
import { test } from "node:test";
import { textAt, valueAt } from "@klutch/kube-core";
import fc from "fast-check";
import { claimNameLabel, claimNamespaceLabel } from "@klutch/api";
import type { ComposeRequest, Json } from "@klutch/crossplane";
import {
  backupResource,
  bindingResource,
  functionResource,
  restoreResource,
  services,
} from "@klutch/services";
import { compose } from "./compose.ts";

const called = [...services().map(functionResource), bindingResource];
const inputs = [...called, backupResource, restoreResource];

/** Any value at the fields that the function reads: an XRD allows less, but a function must not rely on it. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>("True", "a", "kube-system", undefined),
);
const loosely = (shape: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.record(shape, { requiredKeys: [] }) },
    { weight: 1, arbitrary: anything },
  );
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("db", "team-a", "x") },
  { weight: 1, arbitrary: anything },
);
const composite = fc.record(
  {
    metadata: loosely({
      name,
      namespace: name,
      labels: loosely({ [claimNameLabel]: name, [claimNamespaceLabel]: name }),
    }),
    spec: loosely({
      service: anything,
      plan: anything,
      parameters: anything,
      acceptsIncomplete: anything,
      instanceRef: anything,
      backupRef: anything,
      serviceInstanceType: anything,
      writeConnectionSecretToRef: anything,
      namespace: anything,
    }),
  },
  { requiredKeys: [] },
);
const observed = loosely({
  status: loosely({
    atProvider: loosely({ state: anything, connectionDetails: anything }),
    conditions: fc.oneof(anything, fc.array(loosely({ type: name, status: anything, reason: anything }))),
  }),
});

function requestOf(body: Json, resource: unknown, existing: unknown): ComposeRequest {
  const managed = typeof existing === "object" && existing !== null ? { ...existing } : {};
  return {
    composite: body,
    observed: { managed: { resource: managed, connection: {} } },
    input: { resource },
  };
}

test("whatever a composite holds, at most one resource comes of it, and it belongs to that claim alone", () => {
  let composed = 0;
  fc.assert(
    fc.property(composite, fc.constantFrom(...inputs), observed, (body, input, existing) => {
      const { resources, results = [], conditions = [] } = compose(requestOf(body, input, existing));
      for (const { status } of conditions) assert.match(status, /^(True|False|Unknown)$/);
      if (results.some(({ severity }) => severity === "fatal")) {
        assert.deepEqual(resources, {});
        return;
      }
      composed++;
      assert.deepEqual(Object.keys(resources), ["managed"]);
      const resource = resources["managed"]?.resource;
      const labels = valueAt(body, "metadata", "labels");
      const own = {
        name: textAt(body, "metadata", "name"),
        namespace: textAt(body, "metadata", "namespace"),
      };
      const isNamespaced = own.name !== undefined && own.namespace !== undefined;
      const owner = isNamespaced
        ? own
        : { name: textAt(labels, claimNameLabel), namespace: textAt(labels, claimNamespaceLabel) };
      assert.equal(textAt(resource, "metadata", "labels", claimNameLabel), owner.name);
      assert.equal(textAt(resource, "metadata", "labels", claimNamespaceLabel), owner.namespace);
      assert.equal(valueAt(resource, "metadata", "namespace"), isNamespaced ? owner.namespace : undefined);
      // Crossplane gives it a name; one from the claim would let two claims meet.
      assert.equal(valueAt(resource, "metadata", "name"), undefined);
      const secret = valueAt(resource, "spec", "writeConnectionSecretToRef");
      if (input === bindingResource)
        assert.deepEqual(secret, {
          ...(isNamespaced ? {} : { namespace: owner.namespace }),
          name: `${owner.name}-creds`,
        });
      else assert.equal(secret, undefined);
    }),
    { numRuns: 2_000 },
  );
  assert.ok(composed > 500, `only ${composed} were composed`);
});

test("an input of any kind that is not known stops the pipeline", () => {
  fc.assert(
    fc.property(anything, (resource) => {
      if (inputs.some((known) => known === resource)) return;
      const { resources, results } = compose(requestOf({}, resource, {}));
      assert.deepEqual(resources, {});
      assert.equal(results?.[0]?.severity, "fatal");
    }),
  );
});

test("only a Ready of True makes the composite ready", () => {
  const body = { metadata: { name: "db", namespace: "team" }, spec: {} };
  for (const [conditions, ready] of [
    [undefined, false],
    [[], false],
    [[{ type: "Ready", status: "False" }], false],
    [[{ type: "Ready", status: "Unknown" }], false],
    [[{ type: "Ready", status: true }], false],
    [[{ type: "Synced", status: "True" }], false],
    [
      [
        { type: "Synced", status: "False" },
        { type: "Ready", status: "True" },
      ],
      true,
    ],
  ] as const) {
    const { spec } = compose(requestOf(body, inputs[0], {})).resources["managed"]?.resource ?? {};
    const { resources } = compose(requestOf(body, inputs[0], { spec, status: { conditions } }));
    assert.equal(resources["managed"]?.ready, ready, JSON.stringify(conditions));
  }
});

test("only fields meant for the claim are reported, never a field that the provider adds one day", () => {
  const body = { metadata: { name: "db", namespace: "team" }, spec: {} };
  const atProvider = {
    state: "created",
    serviceBindingID: 7,
    connectionDetails: { hostURL: "h" },
    password: "p",
  };
  const { compositeStatus } = compose(requestOf(body, bindingResource, { status: { atProvider } }));
  assert.deepEqual(compositeStatus, {
    managed: { serviceBindingID: 7, state: "created", connectionDetails: { hostURL: "h" }, conditions: [] },
  });
});

test("a claim that must be finished at once says so to the provider; anything else waits", () => {
  const body = (acceptsIncomplete: unknown): Json => ({
    metadata: { name: "db", namespace: "team" },
    spec: { acceptsIncomplete },
  });
  for (const input of called) {
    for (const [value, expected] of [
      [false, false],
      [true, true],
      [undefined, true],
      ["false", true],
    ] as const) {
      const { resources } = compose(requestOf(body(value), input, {}));
      const answer = valueAt(resources["managed"]?.resource, "spec", "forProvider", "acceptsIncomplete");
      assert.equal(answer, expected);
    }
  }
});
