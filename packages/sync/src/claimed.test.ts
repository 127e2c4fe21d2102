import assert from "node:assert/strict";
import { test } from "node:test";
import { claimedFromLabel, resourceOwnerAnnotation } from "@klutch/api";
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import fc from "fast-check";
import { needsRecreation } from "./claimed-content.ts";
import { type ClaimedPlan, type ObservedClaimed, planClaimed } from "./claimed.ts";
import { type CompiledPermissionClaim, unrestrictedClaim } from "./compiled-permission-claim.ts";

const providerOwned = unrestrictedClaim("Provider");
const consumerOwned = unrestrictedClaim("Consumer");
const either = unrestrictedClaim(undefined);
const tenant = { namespace: "cluster-a", namespaceUid: "tenant" };
const consumerRef = { namespace: "app", name: "s" };
const providerRef = { namespace: "cluster-a-app", name: "s" };

function secret(namespace: string, data: object, metadata: ObjectMeta = {}): DynamicObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name: "s", uid: `${namespace}-uid`, resourceVersion: "1", ...metadata },
    type: "Opaque",
    data,
  };
}
const onProvider = (data: object, metadata?: ObjectMeta): DynamicObject =>
  secret("cluster-a-app", data, metadata);
const onConsumer = (data: object, metadata?: ObjectMeta): DynamicObject => secret("app", data, metadata);
const copyMarks = (owner: string): ObjectMeta => ({
  annotations: { [resourceOwnerAnnotation]: owner },
  labels: { [claimedFromLabel]: "tenant" },
});

function plan(observed: Partial<ObservedClaimed>): ClaimedPlan {
  return planClaimed({
    permissionClaim: providerOwned,
    consumer: undefined,
    provider: undefined,
    consumerRef,
    providerRef,
    tenant,
    resource: "secrets",
    ...observed,
  });
}

test("with owner Provider no consumer object is ever copied to the provider, whatever both sides hold", () => {
  const marks = fc.constantFrom<ObjectMeta>({}, copyMarks("Provider"), copyMarks("Consumer"), {
    annotations: { [resourceOwnerAnnotation]: "" },
  });
  const side = fc.option(marks, { nil: undefined });
  fc.assert(
    fc.property(side, side, (providerMarks, consumerMarks) => {
      const consumer = consumerMarks === undefined ? undefined : onConsumer({ a: "x" }, consumerMarks);
      const provider = providerMarks === undefined ? undefined : onProvider({ a: "y" }, providerMarks);
      const { step } = plan({ consumer, provider });
      assert.notEqual(step?.on, "provider");
    }),
  );
});

test("a provider's Secret is copied with our marks, without owners and finalizers", () => {
  const owners = [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }];
  const { step } = plan({ provider: onProvider({ a: "x" }, { finalizers: ["f"], ownerReferences: owners }) });
  assert.deepEqual(step, {
    do: "create",
    on: "consumer",
    content: {
      apiVersion: "v1",
      kind: "Secret",
      type: "Opaque",
      data: { a: "x" },
      metadata: {
        ...consumerRef,
        labels: { [claimedFromLabel]: "tenant" },
        annotations: { [resourceOwnerAnnotation]: "Provider" },
      },
    },
  });
});

test("a copy that is as it should be causes no write; an edit or a removed key does", () => {
  const provider = onProvider({ a: "x" });
  assert.deepEqual(plan({ provider, consumer: onConsumer({ a: "x" }, copyMarks("Provider")) }), {});
  for (const data of [{ a: "edited" }, { a: "x", more: "y" }, {}]) {
    const { step } = plan({ provider, consumer: onConsumer(data, copyMarks("Provider")) });
    assert.equal(step?.do, "replace");
  }
});

test("labels on which tools of the control plane act go up neither with the object nor with a copy's changes, and stay where they are", () => {
  const labels = { team: "a", grafana_dashboard: "1", "x.crossplane.io/y": "1", owner: "helm" };
  const keysOf = (metadata: ObjectMeta | undefined): readonly string[] =>
    Object.keys(metadata?.labels ?? {}).filter((key) => key !== claimedFromLabel);
  const labelsOf = ({ step }: ClaimedPlan): readonly string[] =>
    step !== undefined && "content" in step ? keysOf(step.content.metadata) : [];
  const up = { permissionClaim: consumerOwned, consumer: onConsumer({ a: "x" }, { labels }) };
  assert.deepEqual(labelsOf(plan(up)), ["team"]);
  const marks = copyMarks("Consumer");
  const earlier = onProvider({ a: "w" }, { ...marks, labels: { ...marks.labels, grafana_dashboard: "0" } });
  assert.deepEqual(labelsOf(plan({ ...up, provider: earlier })), ["team", "grafana_dashboard"]);
  const anyLabel = { ...providerOwned.labels, copyToProvider: ["*"] };
  const copy = copyMarks("Provider");
  const { step } = plan({
    permissionClaim: { ...providerOwned, labels: anyLabel },
    provider: onProvider({ a: "x" }),
    consumer: onConsumer({ a: "x" }, { ...copy, labels: { ...copy.labels, ...labels } }),
  });
  assert.deepEqual(step?.do === "patch" ? step.patch : step, { metadata: { labels: { team: "a" } } });
});

test("an object of the consumer's own is a conflict and is left alone", () => {
  assert.deepEqual(plan({ provider: onProvider({}), consumer: onConsumer({}) }), { conflict: true });
  assert.deepEqual(plan({ consumer: onConsumer({}) }), {});
});

test("when the provider's object goes, the copy goes from the consumer's namespace, after a live read", () => {
  const { step } = plan({ consumer: onConsumer({}, copyMarks("Provider")) });
  assert.deepEqual(step, {
    do: "delete",
    on: "consumer",
    ref: consumerRef,
    uid: "app-uid",
    unlessFound: providerRef,
  });
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const dying = plan({
    consumer: onConsumer({}, copyMarks("Provider")),
    provider: onProvider({}, { deletionTimestamp }),
  });
  assert.ok(dying.step?.do === "delete");
  assert.deepEqual(dying.step.ref, consumerRef);
});

test("an absent side is just absent", () => {
  assert.deepEqual(plan({}), {});
  assert.deepEqual(plan({ permissionClaim: consumerOwned }), {});
  assert.deepEqual(plan({ permissionClaim: either }), {});
});

test("what a claim does not select is not copied to the consumer, and is removed when it was", () => {
  const permissionClaim: CompiledPermissionClaim = { ...providerOwned, names: ["other"] };
  assert.deepEqual(plan({ permissionClaim, provider: onProvider({}) }), {});
  const removed = plan({
    permissionClaim,
    provider: onProvider({}),
    consumer: onConsumer({}, copyMarks("Provider")),
  });
  assert.equal(removed.step?.do, "delete");
  const labelled: CompiledPermissionClaim = { ...providerOwned, labelSelectors: [{ app: "db" }] };
  assert.deepEqual(plan({ permissionClaim: labelled, provider: onProvider({}) }), {});
  const matching = plan({ permissionClaim: labelled, provider: onProvider({}, { labels: { app: "db" } }) });
  assert.equal(matching.step?.do, "create");
});

test("the copy of another provider is not ours to delete", () => {
  const metadata = { ...copyMarks("Provider"), labels: { [claimedFromLabel]: "another tenant" } };
  assert.deepEqual(plan({ consumer: onConsumer({}, metadata) }), {});
  const both = { consumer: onConsumer({ a: "x" }, metadata), provider: onProvider({ a: "y" }) };
  assert.deepEqual(plan(both), { conflict: true });
});

test("what every cluster has for itself stays in its cluster", () => {
  const token = { ...onProvider({}), type: "kubernetes.io/service-account-token" };
  assert.deepEqual(plan({ provider: token }), {});
  const root: DynamicObject = {
    ...onProvider({}),
    kind: "ConfigMap",
    metadata: { namespace: "cluster-a-app", name: "kube-root-ca.crt" },
  };
  assert.deepEqual(plan({ provider: root, resource: "configmaps" }), {});
});

test("with owner Consumer the mirror image holds", () => {
  const { step } = plan({ permissionClaim: consumerOwned, consumer: onConsumer({ a: "x" }) });
  assert.ok(step?.do === "create" && step.on === "provider");
  assert.equal(step.content.metadata.annotations?.[resourceOwnerAnnotation], "Consumer");
  assert.deepEqual(plan({ permissionClaim: consumerOwned, provider: onProvider({}) }), {});
  const gone = plan({ permissionClaim: consumerOwned, provider: onProvider({}, copyMarks("Consumer")) });
  assert.ok(gone.step?.do === "delete" && gone.step.on === "provider");
});

test("without an owner the side that has it owns it, and two unmarked objects are a conflict", () => {
  assert.equal(plan({ permissionClaim: either, provider: onProvider({}) }).step?.on, "consumer");
  assert.equal(plan({ permissionClaim: either, consumer: onConsumer({}) }).step?.on, "provider");
  assert.deepEqual(plan({ permissionClaim: either, consumer: onConsumer({}), provider: onProvider({}) }), {
    conflict: true,
  });
});

test("an immutable type forces deletion and creation", () => {
  const copy = onConsumer({ a: "x" });
  assert.equal(needsRecreation("secrets", copy, { ...copy, type: "kubernetes.io/tls" }), true);
  assert.equal(needsRecreation("secrets", copy, { ...copy, data: { a: "y" } }), false);
  assert.equal(needsRecreation("secrets", { ...copy, immutable: true }, copy), true);
});

test("a Secret that calls itself something else is judged as the Secret that it is", () => {
  for (const kind of ["", "Widget", "secret"]) {
    const token = { ...onProvider({}), kind, type: "bootstrap.kubernetes.io/token" };
    assert.deepEqual(plan({ provider: token }), {});
    const account = { ...onConsumer({}), kind, type: "kubernetes.io/service-account-token" };
    assert.deepEqual(plan({ permissionClaim: consumerOwned, consumer: account }), {});
    const copy = onConsumer({ a: "x" }, copyMarks("Provider"));
    assert.deepEqual(plan({ provider: { ...onProvider({ a: "x" }), kind }, consumer: copy }), {});
  }
});

test("Secrets cross in both directions only when their type is on the short list or the claim names it", () => {
  const both = (permissionClaim: CompiledPermissionClaim, type: string): readonly ClaimedPlan[] => [
    plan({ permissionClaim, provider: { ...onProvider({}), type } }),
    plan({ permissionClaim, consumer: { ...onConsumer({}), type } }),
  ];
  for (const type of [
    "",
    "Opaque",
    "kubernetes.io/tls",
    "servicebinding.io/postgresql",
    "connection.crossplane.io/v1alpha1",
  ])
    for (const { step } of both(either, type)) assert.equal(step?.do, "create", type);
  for (const type of ["example.org/odd", "kubernetes.io/dockercfg", "opaque"])
    assert.deepEqual(both(either, type), [{ refusedType: type }, { refusedType: type }]);
  for (const type of [
    "helm.sh/release.v1",
    "bootstrap.kubernetes.io/token",
    "kubernetes.io/service-account-token",
  ])
    assert.deepEqual(both(either, type), [{}, {}]);
  const named: CompiledPermissionClaim = {
    ...either,
    fieldSelectors: [[{ path: ["type"], equals: true, value: "example.org/odd" }]],
  };
  for (const { step } of both(named, "example.org/odd")) assert.equal(step?.do, "create");
  const copy = { ...onConsumer({ a: "old" }, copyMarks("Provider")), type: "example.org/odd" };
  const source = { ...onProvider({ a: "new" }), type: "example.org/odd" };
  assert.deepEqual(plan({ provider: source, consumer: copy }), { refusedType: "example.org/odd" });
});

test("the agent's own Secrets are never copied to the provider, and nothing replaces them", () => {
  const isPrivate = true;
  assert.deepEqual(plan({ permissionClaim: either, consumer: onConsumer({}), isPrivate }), {});
  assert.deepEqual(plan({ permissionClaim: either, provider: onProvider({}), isPrivate }), {});
  const onProviderToo = plan({
    permissionClaim: consumerOwned,
    consumer: onConsumer({}),
    provider: onProvider({}, copyMarks("Consumer")),
    isPrivate,
  });
  assert.ok(onProviderToo.step?.do === "delete" && onProviderToo.step.on === "provider");
});

test("where nothing is bound, nothing is made or changed; a copy goes when its source is gone", () => {
  const isOpen = false;
  const copy = onConsumer({ a: "x" }, copyMarks("Provider"));
  assert.deepEqual(plan({ provider: onProvider({}), isOpen }), {});
  assert.deepEqual(plan({ provider: onProvider({ a: "new" }), consumer: copy, isOpen }), {});
  assert.deepEqual(plan({ provider: onProvider({}), consumer: onConsumer({}), isOpen }), {});
  assert.deepEqual(plan({ permissionClaim: either, consumer: onConsumer({}), isOpen }), {});
  const { step } = plan({ consumer: copy, isOpen });
  assert.ok(step?.do === "delete" && step.on === "consumer");
});

test("of the provider's labels and annotations only ordinary ones are copied, and those that the claim names", () => {
  const keys = {
    team: "red",
    "app.kubernetes.io/name": "db",
    "klutch.io/instance-type": "pg",
    "acme.example/a": "1",
    "app.kubernetes.io/managed-by": "Helm",
    "app.kubernetes.io/instance": "x",
    "pod-security.kubernetes.io/enforce": "privileged",
    "kubernetes.io/service-account.name": "default",
    "x.k8s.io/y": "1",
    "argocd.argoproj.io/instance": "x",
    "kustomize.toolkit.fluxcd.io/name": "x",
    "klutch.anynines.com/bound": "true",
  };
  const marks = [claimedFromLabel, resourceOwnerAnnotation];
  const kept = (permissionClaim: CompiledPermissionClaim): readonly (readonly string[])[] => {
    const { step } = plan({ permissionClaim, provider: onProvider({}, { labels: keys, annotations: keys }) });
    assert.ok(step?.do === "create");
    const { labels = {}, annotations = {} } = step.content.metadata;
    return [labels, annotations].map((entries) =>
      Object.keys(entries)
        .filter((key) => !marks.includes(key))
        .toSorted(),
    );
  };
  const ordinary = ["app.kubernetes.io/name", "klutch.io/instance-type", "team"];
  assert.deepEqual(kept(providerOwned), [ordinary, ordinary]);
  const all = { ...providerOwned.labels, toConsumer: ["*"] };
  const everything = ["acme.example/a", ...ordinary];
  assert.deepEqual(kept({ ...providerOwned, labels: all, annotations: all }), [everything, everything]);
});
