import assert from "node:assert/strict";
import { test } from "node:test";
import { boundAnnotation, fieldManager, syncerFinalizer } from "@klutch/api";
import { type DynamicObject, jsonHash, type ObjectMeta } from "@klutch/kube-core";
import { consumerDigest, type Digest, compareDigests, providerDigest, lastSyncedOf } from "./digest.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import { plainView } from "./status-view.ts";

function thing(spec: unknown, metadata: ObjectMeta, status?: unknown): DynamicObject {
  return {
    apiVersion: "v1",
    kind: "Thing",
    metadata: { name: "a", uid: "u", ...metadata },
    spec,
    ...(status === undefined ? {} : { status }),
  };
}

const onConsumer = (spec: unknown, status?: unknown, metadata: ObjectMeta = {}): Digest =>
  consumerDigest(
    thing(spec, { finalizers: [syncerFinalizer], ...metadata }, status),
    defaultMetadataRule,
    plainView,
  );
const applied = (fieldsV1: object): unknown => ({ manager: fieldManager, operation: "Apply", fieldsV1 });
const onProvider = (
  spec: unknown,
  managers: readonly unknown[],
  status?: unknown,
  metadata: ObjectMeta = {},
): Digest =>
  providerDigest(
    thing(spec, { annotations: { [boundAnnotation]: "true" }, managedFields: managers, ...metadata }, status),
    plainView,
  );
const own = applied({ "f:spec": { "f:size": {} } });
const judge = (
  consumer: Digest,
  provider: Digest,
  lastSynced = lastSyncedOf(onConsumer({ size: 1 }), onProvider({ size: 1 }, [own])),
): string => compareDigests(consumer, provider, lastSynced, undefined, syncerFinalizer);

test("what others add on the provider, late initialisation among it, does not count", () => {
  const other = { manager: "crossplane", operation: "Update", fieldsV1: { "f:spec": { "f:ref": {} } } };
  assert.equal(judge(onConsumer({ size: 1 }), onProvider({ size: 1, ref: "x" }, [own, other])), "noStatus");
});

test("a value that somebody else changed on the provider is noticed, because the field is no longer ours", () => {
  const taken = { manager: "someone", operation: "Update", fieldsV1: { "f:spec": { "f:size": {} } } };
  assert.equal(judge(onConsumer({ size: 1 }), onProvider({ size: 9 }, [applied({}), taken])), "needsBoth");
});

test("a changed claim needs only the claim, unless an older agent's fields must be removed by name", () => {
  assert.equal(judge(onConsumer({ size: 2 }), onProvider({ size: 1 }, [own])), "claimChanged");
  const legacy = { manager: "konnector", operation: "Update", fieldsV1: { "f:spec": { "f:size": {} } } };
  const provider = onProvider({ size: 1 }, [legacy]);
  assert.equal(
    judge(onConsumer({ size: 2 }), provider, lastSyncedOf(onConsumer({ size: 1 }), provider)),
    "needsBoth",
  );
});

test("a status on the provider that the claim does not show is written to it, and one that was pruned is not written again", () => {
  const [consumer, provider] = [
    onConsumer({ size: 1 }, { a: 1 }),
    onProvider({ size: 1 }, [own], { a: 2, b: 1 }),
  ];
  assert.equal(judge(consumer, provider), "statusDiffers");
  const lastWrittenStatus = { wanted: jsonHash({ a: 2, b: 1 }), observed: jsonHash({ a: 1 }) };
  const lastSynced = lastSyncedOf(consumer, provider);
  assert.equal(compareDigests(consumer, provider, lastSynced, lastWrittenStatus, syncerFinalizer), "inSync");
  assert.equal(judge(consumer, onProvider({ size: 1 }, [own])), "needsBoth");
});

test("another object of the same name, a missing finalizer and a deletion need a full comparison", () => {
  const provider = onProvider({ size: 1 }, [own]);
  assert.equal(judge(onConsumer({ size: 1 }, undefined, { uid: "another" }), provider), "needsBoth");
  assert.equal(judge(onConsumer({ size: 1 }, undefined, { finalizers: [] }), provider), "needsBoth");
  assert.equal(
    judge(onConsumer({ size: 1 }, undefined, { deletionTimestamp: "2026-01-01T00:00:00Z" }), provider),
    "needsBoth",
  );
  assert.equal(compareDigests(undefined, provider, undefined, undefined, syncerFinalizer), "needsBoth");
});

test("a pair that no one has reconciled yet is in sync when what we hold on the provider is what we would apply", () => {
  const metadata = { namespace: "team", labels: { team: "blue" }, annotations: { "team.example/note": "x" } };
  const claim = onConsumer({ size: 1, list: [{ name: "a" }], nested: { on: false } }, undefined, metadata);
  const marks = { "f:annotations": { "f:klutch.anynines.com/bound": {}, "f:team.example/note": {} } };
  const metadataSet = { "f:metadata": { ...marks, "f:labels": { "f:team": {} } } };
  const specSet = { "f:size": {}, "f:list": {}, "f:nested": { ".": {}, "f:on": {} } };
  const copyMetadata = {
    namespace: "mirror",
    labels: { team: "blue", other: "theirs" },
    annotations: { "team.example/note": "x", [boundAnnotation]: "true", "theirs.example/y": "z" },
  };
  const copy = (
    spec: object,
    set: object = specSet,
    managers = [applied({ ...metadataSet, "f:spec": set })],
  ) => onProvider(spec, managers, undefined, copyMetadata);
  const first = (provider: Digest): string =>
    compareDigests(claim, provider, undefined, undefined, syncerFinalizer);
  const spec = { size: 1, list: [{ name: "a" }], nested: { on: false, late: 1 }, ref: "theirs" };
  assert.equal(first(copy(spec)), "noStatus");
  assert.equal(first(copy({ ...spec, size: 2 })), "needsBoth");
  assert.equal(first(copy({ ...spec, extra: 1 }, { ...specSet, "f:extra": {} })), "needsBoth");
  assert.equal(first(copy(spec, { ...specSet, "f:gone": {} })), "needsBoth");
  assert.equal(first(copy(spec, { "f:size": {}, "f:nested": { "f:on": {} } })), "needsBoth");
  const byKey = { ...specSet, "f:list": { 'k:{"name":"a"}': { ".": {}, "f:name": {} } } };
  assert.equal(first(copy(spec, byKey)), "needsBoth");
  assert.equal(first(copy(spec, specSet, [])), "needsBoth");
});

test("a digest keeps no content: neither labels nor values", () => {
  const digest = onConsumer({ password: "hunter2" }, { note: "hunter2" }, { labels: { team: "hunter2" } });
  assert.ok(!JSON.stringify(digest).includes("hunter2"));
});
