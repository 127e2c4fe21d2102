import assert from "node:assert/strict";
import { test } from "node:test";
import { boundAnnotation, syncerFinalizer } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { claimNamesOf } from "./cluster-scoped.ts";
import { missingClaims, syncedVersion } from "./crd-plan.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import { consumerNameOf, providerRefOf } from "./namespaces.ts";
import { isMassDeletion } from "./orphans.ts";
import { isUndecidable, keepStoredVersions, SchemaTrial } from "./schema-rollout.ts";
import { planUnbind } from "./unbind.ts";
import { copied } from "./testing/objects.ts";

const tenant = { namespace: "cluster-a", namespaceUid: "tenant" };

function specWith(
  properties: object,
  required: readonly string[] = [],
  name = "v1",
): Record<string, unknown> {
  const spec = { type: "object", properties, required };
  return {
    versions: [
      {
        name,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
      },
    ],
  };
}

const thing = (spec: object, metadata: object = {}): DynamicObject => ({
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { namespace: "app", name: "one", uid: "consumer", ...metadata },
  spec,
});

test("only objects that a new schema would refuse or shorten are affected", () => {
  const before = specWith({ size: { type: "integer" }, old: { type: "string" } });
  const after = specWith({ size: { type: "integer", maximum: 5 } }, ["size"]);
  const trial = new SchemaTrial(before, after);
  assert.ok(trial.changes.length >= 3);
  const more = { size: { type: "integer" }, old: { type: "string" }, more: { type: "string" } };
  assert.deepEqual(new SchemaTrial(before, specWith(more)).changes, []);
  assert.equal(trial.affected(thing({ size: 3 })), undefined);
  assert.deepEqual(trial.affected(thing({ size: 9, old: "x" }))?.problems, [
    "spec.size: is 9, expected maximum 5",
    "spec.old: would be lost",
  ]);
  const [rule = ""] = new SchemaTrial(
    before,
    specWith({
      size: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 1" }] },
      old: { type: "string" },
    }),
  ).changes;
  assert.ok(isUndecidable(rule), rule);
});

/** Several versions; the first is the stored one. */
function severalVersions(...specs: readonly Record<string, unknown>[]): Record<string, unknown> {
  const versions = specs.flatMap((spec) => spec["versions"] as Record<string, unknown>[]);
  return { versions: versions.map((version, index) => ({ ...version, storage: index === 0 })) };
}

test("objects are held against the version that they will be stored in, although theirs is still there", () => {
  const size = { size: { type: "integer" } };
  const both = { ...size, color: { type: "string" } };
  const before = specWith(both);
  const narrower = new SchemaTrial(before, severalVersions(specWith(size, [], "v2"), before));
  assert.deepEqual(narrower.changes, ["v2 in place of v1 spec.color: the field is removed"]);
  assert.deepEqual(narrower.versions, ["v1"]);
  assert.deepEqual(narrower.affected(thing({ color: "red" }))?.problems, ["spec.color: would be lost"]);
  assert.equal(narrower.affected(thing({ size: 1 })), undefined);
  const wider = { ...both, tier: { type: "string" } };
  assert.deepEqual(new SchemaTrial(before, severalVersions(specWith(wider, [], "v2"), before)).changes, []);
  assert.deepEqual(new SchemaTrial(before, severalVersions(before, specWith(size, [], "v2"))).changes, []);
});

test("a version that is no longer served is told; objects can suffer only from the one that takes its place", () => {
  const color = { color: { type: "string" } };
  const before = severalVersions(specWith(color, [], "v2"), specWith(color));
  const gone = new SchemaTrial(before, specWith(color, [], "v2"));
  assert.deepEqual([gone.changes, gone.versions], [["version v1 is no longer served"], []]);
  const replaced = new SchemaTrial(specWith(color), specWith({}, [], "v2"));
  assert.deepEqual(replaced.affected(thing({ color: "red" }))?.problems, ["spec.color: would be lost"]);
});

test("a stored version that the export dropped stays in the CRD, not served", () => {
  const kept = keepStoredVersions(specWith({}, [], "v2"), specWith({ a: { type: "string" } }), ["v1"]);
  const versions = kept["versions"] as { name: string; served: boolean; storage: boolean }[];
  assert.deepEqual(
    versions.map(({ name, served, storage }) => [name, served, storage]),
    [
      ["v2", true, true],
      ["v1", false, false],
    ],
  );
  assert.deepEqual(keepStoredVersions(specWith({}), specWith({}), ["v1"]), specWith({}));
});

test("the synced version is one that both sides serve", () => {
  const version = (name: string, storage: boolean): object => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: {} },
  });
  const spec = { versions: [version("v1", false), version("v2", true)] } as never;
  const crd = { apiVersion: "", kind: "", metadata: {}, spec: { versions: [{ name: "v1", served: true }] } };
  assert.equal(syncedVersion(spec)?.name, "v2");
  assert.equal(syncedVersion(spec, crd)?.name, "v1");
});

test("a required claim must be accepted", () => {
  const claim = { resource: "secrets", version: "v1", required: true };
  assert.deepEqual(missingClaims([{ ...claim, state: "Rejected" }], [claim]), [{ claim, rejected: true }]);
  assert.deepEqual(missingClaims([], [claim]), [{ claim, rejected: false }]);
  assert.deepEqual(missingClaims([{ ...claim, state: "Accepted" }], [claim]), []);
  assert.deepEqual(missingClaims([], [{ ...claim, required: false }]), []);
});

test("isolation None and Namespaced place cluster-scoped objects, and only the own ones come back", () => {
  const missing = { state: "missing" } as const;
  assert.deepEqual(providerRefOf(tenant, { name: "x" }, missing, "None"), { name: "x" });
  assert.deepEqual(providerRefOf(tenant, { name: "x" }, missing, "Namespaced"), {
    namespace: "cluster-a",
    name: "x",
  });
  const annotations = { "klutch.anynines.com/cluster-namespace": "cluster-a" };
  assert.deepEqual(claimNamesOf(tenant, { metadata: { name: "x", annotations } }), ["x"]);
  assert.deepEqual(claimNamesOf(tenant, { metadata: { name: "x" } }), []);
});

test("a name too long for its prefix is hashed and finds its way back", () => {
  const name = "n".repeat(250);
  const ref = providerRefOf(tenant, { name }, { state: "missing" });
  assert.equal(ref?.name.length, 253);
  const annotations = {
    "klutch.anynines.com/cluster-namespace": "cluster-a",
    "klutch.anynines.com/consumer-name": name,
  };
  const onProvider: DynamicObject = {
    apiVersion: "v1",
    kind: "Thing",
    metadata: { name: ref?.name, annotations },
  };
  assert.equal(consumerNameOf(tenant, onProvider), name);
  const forged = { ...annotations, "klutch.anynines.com/consumer-name": "other" };
  assert.equal(
    consumerNameOf(tenant, { ...onProvider, metadata: { ...onProvider.metadata, annotations: forged } }),
    undefined,
  );
});

test("a wiped population is held, also a small one; one that is replaced or that loses less than half is not", () => {
  assert.ok(isMassDeletion({ peak: 8, alive: 0, limit: 5 }));
  assert.ok(isMassDeletion({ peak: 10, alive: 5, limit: 5 }));
  assert.ok(!isMassDeletion({ peak: 11, alive: 6, limit: 5 }));
  assert.ok(!isMassDeletion({ peak: 4, alive: 0, limit: 5 }));
  assert.ok(!isMassDeletion({ peak: 200, alive: 190, limit: 5 }));
  assert.ok(!isMassDeletion({ peak: 900, alive: 0, limit: 0 }));
});

test("unbinding: orphans lose our marks, a deletion that was asked for before is finished", () => {
  const marks = { finalizers: [syncerFinalizer], annotations: { [boundAnnotation]: "true" } };
  const onProvider: DynamicObject = {
    ...thing({}),
    metadata: {
      namespace: "cluster-a-app",
      name: "one",
      uid: "provider",
      annotations: { [boundAnnotation]: "true" },
    },
  };
  const observed = {
    ref: { namespace: "app", name: "one" },
    mapping: { state: "ready", providerNamespace: "cluster-a-app" } as const,
    tenant,
    rule: defaultMetadataRule,
    ...copied,
  };
  const steps = (
    consumer: DynamicObject | undefined,
    provider: DynamicObject | undefined,
    policy: "Orphan" | "Delete",
  ): readonly string[] =>
    planUnbind({ ...observed, consumer, provider }, policy).steps.map((step) => step.do);
  assert.deepEqual(steps(thing({}, marks), onProvider, "Orphan"), ["patchProvider", "unmarkConsumer"]);
  assert.deepEqual(
    steps(thing({}), { ...onProvider, metadata: { ...onProvider.metadata, annotations: {} } }, "Orphan"),
    [],
  );
  assert.deepEqual(steps(thing({}, marks), onProvider, "Delete"), ["deleteConsumer"]);
  const dying = thing({}, { ...marks, deletionTimestamp: "2026-01-01T00:00:00Z" });
  assert.deepEqual(steps(dying, onProvider, "Orphan"), ["deleteProvider"]);
  assert.deepEqual(steps(undefined, onProvider, "Orphan"), ["patchProvider"]);
  assert.deepEqual(steps(undefined, undefined, "Delete"), []);
});
