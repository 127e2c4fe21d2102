import assert from "node:assert/strict";
import { test } from "node:test";
import {
  claimedFromLabel,
  deliveredAnnotation,
  type PermissionClaim,
  resourceOwnerAnnotation,
} from "@klutch/api";
import { type DynamicObject, type ObjectMeta, valueAt } from "@klutch/kube-core";
import { type ClaimedPlan, type ObservedClaimed, planClaimed } from "./claimed.ts";
import { claimFaults, compilePermissionClaim, isSelected } from "./compiled-permission-claim.ts";
import { parseKeyPath, withValueAt } from "./field-path.ts";

const consumerRef = { namespace: "app", name: "s" };
const providerRef = { namespace: "cluster-a-app", name: "s" };
const tenant = { namespace: "cluster-a", namespaceUid: "tenant" };

function object(side: "provider" | "consumer", fields: object, metadata: ObjectMeta = {}): DynamicObject {
  const ref = side === "provider" ? providerRef : consumerRef;
  return {
    apiVersion: "v1",
    kind: "Thing",
    metadata: { ...ref, uid: `${side}-uid`, resourceVersion: "1", ...metadata },
    ...fields,
  };
}

const claim = (options: Partial<PermissionClaim>): PermissionClaim => ({
  resource: "things",
  version: "v1",
  ...options,
});

function plan(options: Partial<PermissionClaim>, sides: Partial<ObservedClaimed>): ClaimedPlan {
  const permissionClaim = compilePermissionClaim(claim(options));
  const absent = { consumer: undefined, provider: undefined };
  return planClaimed({
    ...absent,
    consumerRef,
    providerRef,
    tenant,
    resource: "things.example.org",
    ...sides,
    permissionClaim,
  });
}

/** Carries plans out on both sides until nothing is left to do. */
function settle(
  options: Partial<PermissionClaim>,
  sides: { consumer?: DynamicObject | undefined; provider?: DynamicObject | undefined },
): { consumer: DynamicObject | undefined; provider: DynamicObject | undefined; writes: number } {
  const state = { consumer: sides.consumer, provider: sides.provider };
  for (let writes = 0; writes < 10; writes++) {
    const { step } = plan(options, state);
    if (step === undefined) return { ...state, writes };
    const present = state[step.on];
    if (step.do === "delete") state[step.on] = undefined;
    else if (step.do === "patch" && present !== undefined) {
      state[step.on] = merge(present, step.patch) as DynamicObject;
    } else if (step.do === "writeStatus" && present !== undefined) {
      state[step.on] = { ...present, status: step.status };
    } else if (step.do === "create" || step.do === "replace") {
      const uid = present?.metadata.uid ?? `${step.on}-new`;
      state[step.on] = { ...step.content, metadata: { ...step.content.metadata, uid } };
    }
  }
  assert.fail("the plans do not come to an end");
}

/** RFC 7386, as far as these patches use it. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null) return patch;
  const base = typeof target === "object" && target !== null ? target : {};
  const merged = Object.entries(patch).map(([key, value]) => [
    key,
    merge((base as Record<string, unknown>)[key], value),
  ]);
  return { ...base, ...(Object.fromEntries(merged) as object) };
}

const ownerOf = (one: DynamicObject | undefined): string | undefined =>
  one?.metadata.annotations?.[resourceOwnerAnnotation];
const provider = { selector: { owner: "Provider" } } as const;
const consumer = { selector: { owner: "Consumer" } } as const;

test("selector.namespaces, labelSelectors and fieldSelectors restrict the covered objects", () => {
  const selects = (selector: PermissionClaim["selector"], one: DynamicObject): boolean =>
    isSelected(compilePermissionClaim(claim({ selector })), consumerRef, one);
  const one = object("provider", { type: "Opaque", spec: { size: 3 } }, { labels: { app: "db", tier: "x" } });
  assert.ok(selects({ namespaces: ["other", "app"] }, one));
  assert.ok(!selects({ namespaces: ["other"] }, one));
  assert.ok(selects({ labelSelectors: [{ app: "web" }, { app: "db", tier: "x" }] }, one));
  assert.ok(!selects({ labelSelectors: [{ app: "db", tier: "y" }] }, one));
  assert.ok(selects({ fieldSelectors: ["type=Opaque,metadata.namespace=app"] }, one));
  assert.ok(selects({ fieldSelectors: ["spec.size==3"] }, one));
  assert.ok(!selects({ fieldSelectors: ["metadata.name!=s"] }, one));
});

test("autoAdopt: a consumer's new object is copied to the provider and is the provider's from then on", () => {
  const { consumer: onConsumer, provider: onProvider } = settle(
    { ...provider, autoAdopt: true },
    { consumer: object("consumer", { spec: { a: 1 } }) },
  );
  assert.equal(ownerOf(onConsumer), "Provider");
  assert.equal(ownerOf(onProvider), "Provider");
  assert.deepEqual(onProvider?.["spec"], { a: 1 });
  const changed = settle(
    { ...provider, autoAdopt: true },
    { consumer: onConsumer, provider: { ...onProvider, spec: { a: 2 } } as DynamicObject },
  );
  assert.deepEqual(changed.consumer?.["spec"], { a: 2 });
});

test("autoDonate: a provider's new object is copied to the consumer and is the consumer's from then on", () => {
  const { consumer: onConsumer, provider: onProvider } = settle(
    { ...provider, autoDonate: true },
    { provider: object("provider", { spec: { a: 1 } }) },
  );
  assert.equal(ownerOf(onConsumer), "Consumer");
  assert.equal(ownerOf(onProvider), "Consumer");
  const edited = settle(
    { ...provider, autoDonate: true },
    { provider: onProvider, consumer: { ...onConsumer, spec: { a: 2 } } as DynamicObject },
  );
  assert.deepEqual(edited.provider?.["spec"], { a: 2 });
  const deleted = settle({ ...provider, autoDonate: true }, { provider: onProvider });
  assert.equal(deleted.provider, undefined);
});

test("create.replaceExisting takes over an object of the consumer's own; without it that is a conflict", () => {
  const sides = {
    provider: object("provider", { spec: { a: 1 } }),
    consumer: object("consumer", { spec: { a: 2 } }),
  };
  assert.deepEqual(plan(provider, sides), { conflict: true });
  const { consumer: onConsumer } = settle({ ...provider, create: { replaceExisting: true } }, sides);
  assert.deepEqual(onConsumer?.["spec"], { a: 1 });
  assert.equal(ownerOf(onConsumer), "Provider");
});

test("onConflict.recreateWhenConsumerSideDeleted false: what the consumer deletes stays deleted, also after a restart", () => {
  const options = { ...provider, onConflict: { recreateWhenConsumerSideDeleted: false } };
  const settled = settle(options, { provider: object("provider", { spec: {} }) });
  assert.equal(settled.provider?.metadata.annotations?.[deliveredAnnotation], "true");
  assert.deepEqual(plan(options, { provider: settled.provider }), {});
  assert.equal(plan(provider, { provider: settled.provider }).step?.do, "create");
});

test("update.alwaysRecreate makes the object again instead of changing it", () => {
  const settled = settle(provider, { provider: object("provider", { spec: { a: 1 } }) });
  const changed = { ...settled, provider: object("provider", { spec: { a: 2 } }) };
  const step = (options: Partial<PermissionClaim>): ClaimedPlan["step"] => plan(options, changed).step;
  assert.ok(step(provider)?.do === "replace");
  const replaced = step({ ...provider, update: { alwaysRecreate: true } });
  assert.ok(replaced?.do === "replace" && replaced.recreate);
});

test("update.fields and update.preserving limit what the provider changes in a copy that exists", () => {
  const settled = settle(provider, { provider: object("provider", { spec: { a: 1, b: 1, c: 1 } }) });
  const onProvider = object("provider", { spec: { a: 2, b: 2, c: 2 } });
  const onConsumer = { ...settled.consumer, spec: { a: 1, b: 9, c: 1 } } as DynamicObject;
  const fields = settle(
    { ...provider, update: { fields: ["spec.a"] } },
    { provider: onProvider, consumer: onConsumer },
  );
  assert.deepEqual(fields.consumer?.["spec"], { a: 2, b: 9, c: 1 });
  const kept = settle(
    { ...provider, update: { preserving: ["$.spec.b"] } },
    { provider: onProvider, consumer: onConsumer },
  );
  assert.deepEqual(kept.consumer?.["spec"], { a: 2, b: 9, c: 2 });
});

test("update.fields on the consumer's objects: the consumer gets the provider's values, the provider all others", () => {
  const options = { ...consumer, update: { fields: ["spec.address"] } };
  const settled = settle(options, { consumer: object("consumer", { spec: { a: 1 } }) });
  const onProvider = { ...settled.provider, spec: { a: 5, address: "10.0.0.1" } } as DynamicObject;
  const { consumer: onConsumer, provider: again } = settle(options, {
    consumer: settled.consumer,
    provider: onProvider,
  });
  assert.deepEqual(onConsumer?.["spec"], { a: 1, address: "10.0.0.1" });
  assert.deepEqual(again?.["spec"], { a: 1, address: "10.0.0.1" });
});

test("read and update patterns say which labels and annotations are propagated, in each direction", () => {
  const labels = { keep: "1", "acme.example/a": "2" };
  const fromProvider = settle(
    { ...provider, update: { labels: [{ pattern: "acme.example/*" }] } },
    { provider: object("provider", {}, { labels }) },
  );
  assert.deepEqual(fromProvider.consumer?.metadata.labels, {
    "acme.example/a": "2",
    [claimedFromLabel]: "tenant",
  });
  const fromConsumer = settle(
    { ...consumer, read: { labels: [{ pattern: "keep" }] } },
    { consumer: object("consumer", {}, { labels }) },
  );
  assert.deepEqual(fromConsumer.provider?.metadata.labels, { keep: "1", [claimedFromLabel]: "tenant" });
  const annotations = { "acme.example/note": "mine" };
  const override = { ...provider, read: { overrideAnnotations: [{ pattern: "acme.example/*" }] } };
  const settled = settle(override, {
    provider: object("provider", {}, { annotations: { "acme.example/note": "theirs" } }),
  });
  const edited = {
    ...settled.consumer,
    metadata: {
      ...settled.consumer?.metadata,
      annotations: { ...settled.consumer?.metadata.annotations, ...annotations },
    },
  } as DynamicObject;
  const result = settle(override, { provider: settled.provider, consumer: edited });
  assert.equal(result.provider?.metadata.annotations?.["acme.example/note"], "mine");
  assert.equal(result.consumer?.metadata.annotations?.["acme.example/note"], "mine");
  const back = { ...consumer, update: { labelsOnConsumerOwnedObjects: [{ pattern: "state" }] } };
  const own = settle(back, { consumer: object("consumer", {}) });
  const marked = {
    ...own.provider,
    metadata: { ...own.provider?.metadata, labels: { ...own.provider?.metadata.labels, state: "used" } },
  } as DynamicObject;
  assert.equal(
    settle(back, { consumer: own.consumer, provider: marked }).consumer?.metadata.labels?.["state"],
    "used",
  );
});

test("a field that the source no longer has is removed from the copy of any kind", () => {
  const settled = settle(provider, { provider: object("provider", { spec: { a: 1, b: 1 } }) });
  const { consumer: onConsumer } = settle(provider, {
    consumer: settled.consumer,
    provider: object("provider", { spec: { a: 1 } }),
  });
  assert.deepEqual(onConsumer?.["spec"], { a: 1 });
});

test("status follows where it is written apart", () => {
  const onProvider = object("provider", { spec: {}, status: { phase: "Ready" } });
  const settled = settle(provider, { provider: onProvider });
  const { step } = plan(provider, { ...settled, statusSubresource: true });
  assert.ok(step?.do === "writeStatus" && step.on === "consumer");
  assert.deepEqual(step.status, { phase: "Ready" });
});

test("what cannot be honoured is named with field, value and what would be right", () => {
  const faults = claimFaults(
    claim({
      update: { fields: ["spec.a[0]"], preserving: ["status.x"] },
      selector: { fieldSelectors: ["type"] },
    }),
    { namespaced: false, clusterWide: false },
  );
  assert.equal(faults.length, 4);
  assert.match(faults[0] ?? "", /update\.fields has "spec\.a\[0\]", expected a path/);
  assert.match(faults[3] ?? "", /informerScope Cluster; this one has Namespaced/);
  assert.deepEqual(
    claimFaults(claim({ update: { fields: ["spec.a"] } }), { namespaced: true, clusterWide: false }),
    [],
  );
});

test("paths are read with dots and quoted keys, and set without touching the original", () => {
  assert.deepEqual(parseKeyPath("$.data['tls.crt']"), ["data", "tls.crt"]);
  assert.equal(parseKeyPath("metadata.name"), undefined);
  assert.equal(parseKeyPath("spec.*"), undefined);
  const before = { a: { b: 1 } };
  assert.deepEqual(withValueAt(before, ["a", "c", "d"], 2), { a: { b: 1, c: { d: 2 } } });
  assert.deepEqual(withValueAt(before, ["a", "b"], undefined), { a: {} });
  assert.deepEqual(before, { a: { b: 1 } });
  assert.equal(valueAt(before, "a", "x", "y"), undefined);
});
