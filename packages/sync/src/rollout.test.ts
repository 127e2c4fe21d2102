import assert from "node:assert/strict";
import { test } from "node:test";
import { boundAnnotation, syncerFinalizer } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { claimNamesOf } from "./cluster-scoped.ts";
import { missingClaims, syncedVersion } from "./crd-plan.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import { consumerNameOf, providerRefOf } from "./namespaces.ts";
import { isMassDeletion } from "./orphans.ts";
import { breakingVersionChanges, isUndecidable, keepStoredVersions, SchemaTrial } from "./schema-rollout.ts";
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
  assert.ok(breakingVersionChanges(before, after).length >= 3);
  assert.deepEqual(
    breakingVersionChanges(
      before,
      specWith({ size: { type: "integer" }, old: { type: "string" }, more: { type: "string" } }),
    ),
    [],
  );
  assert.equal(new SchemaTrial(after).affected(thing({ size: 3 })), undefined);
  assert.deepEqual(new SchemaTrial(after).affected(thing({ size: 9, old: "x" }))?.problems, [
    "spec.size: is 9, expected maximum 5",
    "spec.old: would be lost",
  ]);
  assert.deepEqual(new SchemaTrial(specWith({}, [], "v2")).affected(thing({}))?.problems, [
    "version v1 is no longer there",
  ]);
  const [rule = ""] = breakingVersionChanges(
    before,
    specWith({
      size: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 1" }] },
      old: { type: "string" },
    }),
  );
  assert.ok(isUndecidable(rule), rule);
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

test("a wiped population is held, one that is replaced is not", () => {
  assert.ok(isMassDeletion({ recent: 100, peak: 200, alive: 100, limit: 100 }));
  assert.ok(!isMassDeletion({ recent: 500, peak: 200, alive: 190, limit: 100 }));
  assert.ok(!isMassDeletion({ recent: 99, peak: 100, alive: 0, limit: 100 }));
  assert.ok(!isMassDeletion({ recent: 900, peak: 900, alive: 0, limit: 0 }));
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
