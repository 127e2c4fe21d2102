import assert from "node:assert/strict";
import { test } from "node:test";
import { type APIServiceExportSpec, clusterNamespaceAnnotation } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import fc from "fast-check";
import { crdHashAnnotation, effectiveClaims, planCrd, syncedType, syncedVersion } from "./crd-plan.ts";
import { appliedPart } from "./content.ts";
import {
  holdsAll,
  type OwnedFields,
  ownedFields,
  reduceManagedFields,
  surplusPaths,
  valuesAt,
} from "./fields.ts";
import { keyMatcher, matchesAny } from "./key-patterns.ts";
import { isPropagated } from "./metadata-rules.ts";
import { consumerNameOf, mappingOf, planMappingRelease, providerRefOf } from "./namespaces.ts";
import { judgeAbsence, planOrphan } from "./orphans.ts";
import { appliedBy, fieldsOf, providerWidget } from "./testing/objects.ts";
import { plainView } from "./status-view.ts";

test("reducing managed fields twice is reducing them once, and keeps exactly what the decision needs", () => {
  const keys = fc.constantFrom("a", "b", "c");
  const tree = fc.dictionary(keys, fc.dictionary(keys, fc.constant({})));
  fc.assert(
    fc.property(tree, tree, tree, (ours, legacy, others) => {
      const managedFields = [
        appliedBy("klutch.anynines.com", "Apply", { "f:spec": fieldsOf(ours) }),
        appliedBy("konnector", "Update", { "f:spec": fieldsOf(legacy) }),
        appliedBy("crossplane", "Update", { "f:spec": fieldsOf(others) }),
      ];
      const object = providerWidget({}, { managedFields });
      const reduced = reduceManagedFields(object);
      assert.deepEqual(ownedFields(reduced), ownedFields(object));
      assert.deepEqual(reduceManagedFields(reduced), reduced);
    }),
  );
});

test("a field that another manager holds, too, is not ours alone; nor is anything below a value that it holds whole", () => {
  const ours = { "f:spec": { "f:size": {}, "f:color": {}, "f:owner": { "f:name": {} } } };
  const others = { "f:spec": { "f:size": {}, "f:owner": {} } };
  const managedFields = [
    appliedBy("klutch.anynines.com", "Apply", ours),
    appliedBy("kubectl-edit", "Update", others),
  ];
  assert.deepEqual(ownedFields(providerWidget({}, { managedFields })), {
    held: ours,
    applied: { "f:spec": { "f:color": {} } },
    legacy: {},
  });
});

test("every wanted field must be held: by its name, in a list, or below a value that is held whole", () => {
  const fields = {
    "f:metadata": { "f:annotations": { "f:klutch.anynines.com/bound": {} } },
    "f:spec": {
      "f:env": { 'k:{"name":"a"}': { ".": {}, "f:name": {}, "f:value": {} } },
      "f:whole": {},
      "f:owner": { ".": {}, "f:name": {} },
    },
  };
  const legacy = { "f:spec": { "f:old": {} } };
  const holds = (spec: object, metadata: object = {}, held: OwnedFields["held"] = fields): boolean => {
    const wanted = { ...providerWidget(spec), metadata };
    return holdsAll({ held, applied: {}, legacy: {} }, appliedPart(wanted));
  };
  assert.ok(holds({ env: [{ name: "b" }], whole: { any: [1] }, owner: { name: "o" } }));
  assert.ok(holds({}, { annotations: { "klutch.anynines.com/bound": "true" }, resourceVersion: "1" }));
  assert.ok(!holds({ size: 1 }));
  assert.ok(!holds({ other: [] }));
  assert.ok(
    !holds({ owner: { name: "o", team: "t" } }),
    "holding a map is not holding what others put into it",
  );
  assert.ok(!holds({}, { labels: { team: "x" } }));
  assert.ok(holds({ size: 1 }, {}, {}), "an object that was never applied is compared as a whole");
  assert.ok(holdsAll({ held: fields, applied: {}, legacy }, appliedPart(providerWidget({ size: 1 }))));
});

test("the values at held fields tell every change: of a list as a whole, of a map of which we hold no member any more, of a field that is gone", () => {
  const fields = {
    "f:spec": { "f:size": {}, "f:map": {}, "f:env": { 'k:{"name":"a"}': { "f:value": {} } } },
  };
  const at = (spec: object): unknown => valuesAt(fields, { spec });
  const spec = { size: 1, map: { a: 1 }, env: [{ name: "a", value: "1" }] };
  assert.deepEqual(at({ ...spec, other: 1 }), at(spec));
  for (const other of [
    { ...spec, size: 2 },
    { ...spec, map: { a: 2 } },
    { ...spec, env: [{ name: "a", value: "2" }] },
    { ...spec, env: undefined },
    { ...spec, size: undefined },
  ])
    assert.notDeepEqual(at(other), at(spec), JSON.stringify(other));
  const without = { "f:spec": { "f:size": {} } };
  assert.notDeepEqual(
    valuesAt(without, { spec: { size: 1 } }),
    at({ size: 1 }),
    "of a field that is not there",
  );
});

test("list items are found by their keys, values and positions", () => {
  const fields = {
    "f:spec": {
      "f:env": { 'k:{"name":"a"}': { "f:value": {} }, 'k:{"name":"b"}': { ".": {} } },
      "f:set": { 'v:"x"': {}, 'v:"y"': {} },
    },
    "f:status": { "f:phase": {} },
    "f:metadata": { "f:finalizers": { 'v:"z"': {} }, "f:labels": { "f:gone": {} } },
  };
  const wanted = { metadata: { labels: {} }, spec: { env: [{ name: "a", value: "1" }], set: ["x"] } };
  assert.deepEqual(surplusPaths(fields, wanted), [
    ["spec", "env", 'k:{"name":"b"}'],
    ["spec", "set", 'v:"y"'],
    ["metadata", "labels", "gone"],
  ]);
});

test("patterns match any characters at their stars, and only there", () => {
  assert.ok(matchesAny("a.crossplane.io/x", ["*.crossplane.io/*"]));
  assert.ok(!matchesAny("notcrossplane.io/x", ["*.crossplane.io/*"]));
  assert.ok(matchesAny("ab", ["a*b"]) && matchesAny("axxb", ["a*b"]) && !matchesAny("a", ["a*a"]));
  fc.assert(fc.property(fc.string(), (text) => matchesAny(text, ["*"])));
  assert.ok(!isPropagated("a", { allow: keyMatcher(["a"]), deny: keyMatcher(["*"]) }));
});

test("names of cluster-scoped objects map there and back, and never to another tenant", () => {
  const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}[a-z0-9]$/);
  fc.assert(
    fc.property(label, label, label, (mine, theirs, name) => {
      const owner = { namespace: mine, namespaceUid: "u" };
      const ref = providerRefOf(owner, { name }, { state: "missing" });
      assert.ok(ref !== undefined);
      const metadata = { ...ref, annotations: { [clusterNamespaceAnnotation]: mine } };
      const object: DynamicObject = { apiVersion: "v1", kind: "K", metadata };
      assert.equal(consumerNameOf(owner, object), name);
      if (theirs !== mine) {
        assert.equal(consumerNameOf({ namespace: theirs, namespaceUid: "v" }, object), undefined);
      }
    }),
  );
});

test("a mapping is ready when the backend named a namespace, and missing while it is being deleted", () => {
  const mapping = (status: unknown, deletionTimestamp?: string): DynamicObject => ({
    apiVersion: "v1",
    kind: "APIServiceNamespace",
    metadata: { name: "app", deletionTimestamp },
    status,
  });
  assert.deepEqual(mappingOf(undefined), { state: "missing" });
  assert.deepEqual(mappingOf(mapping(undefined)), { state: "pending" });
  assert.deepEqual(mappingOf(mapping({ namespace: "" })), { state: "pending" });
  assert.deepEqual(mappingOf(mapping({ namespace: "x" })), { state: "ready", providerNamespace: "x" });
  assert.deepEqual(mappingOf(mapping({ namespace: "x" }, "now")), { state: "missing" });
});

test("a mapping and an orphan are let go only after two live reads, the grace time apart", () => {
  const observed = { cachedNamespaceExists: false, missingSince: undefined, now: 1000, graceMs: 100 };
  assert.equal(planMappingRelease({ ...observed, cachedNamespaceExists: true, missingSince: 0 }), "keep");
  assert.equal(planMappingRelease(observed), "checkLive");
  assert.deepEqual(planMappingRelease({ ...observed, missingSince: 950 }), { waitMs: 50 });
  assert.equal(planMappingRelease({ ...observed, missingSince: 900 }), "checkLive");
  const orphan = { missingSince: undefined, now: 1000, graceMs: 100, recentDeletions: 0, breakerLimit: 2 };
  assert.deepEqual(planOrphan(orphan), { do: "checkLive" });
  assert.deepEqual(planOrphan({ ...orphan, missingSince: 990 }), { do: "wait", waitMs: 90 });
  assert.deepEqual(planOrphan({ ...orphan, missingSince: 900 }), { do: "confirmAndDelete" });
  assert.deepEqual(planOrphan({ ...orphan, missingSince: 900, recentDeletions: 2 }), { do: "hold" });
});

const spec: APIServiceExportSpec = {
  group: "example.org",
  names: { kind: "Widget", plural: "widgets" },
  scope: "Namespaced",
  informerScope: "Namespaced",
  versions: [
    { name: "v1", served: true, storage: false, schema: { openAPIV3Schema: { type: "object" } } },
    { name: "v2", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
  ],
};
const binding = { name: "widgets.example.org", uid: "new" };
const bindingExists = (uid: string): boolean => uid === "new" || uid === "other";

test("a missing CRD is created with the owner that the plugin reads, and then left alone", () => {
  const plan = planCrd({ spec, binding, crd: undefined, bindingExists });
  assert.ok(plan.do === "create");
  assert.deepEqual(plan.crd.metadata.ownerReferences, [
    {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceBinding",
      name: "widgets.example.org",
      uid: "new",
      controller: true,
    },
  ]);
  const served = { ...plan.crd, spec: { ...(plan.crd.spec as object), preserveUnknownFields: false } };
  assert.deepEqual(planCrd({ spec, binding, crd: served, bindingExists }), { do: "nothing" });
  const changed = { ...spec, versions: spec.versions.slice(1) };
  assert.equal(planCrd({ spec: changed, binding, crd: served, bindingExists }).do, "replace");
  const edited = { ...served, spec: { ...(served.spec as object), scope: "Cluster" } };
  assert.equal(planCrd({ spec, binding, crd: edited, bindingExists }).do, "replace");
});

test("a CRD of an earlier binding of the same name is taken over; any other is foreign", () => {
  const owned = (name: string, uid: string): DynamicObject => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: "widgets.example.org",
      annotations: { [crdHashAnnotation]: "old" },
      ownerReferences: [{ apiVersion: "klutch.anynines.com/v1alpha1", kind: "APIServiceBinding", name, uid }],
    },
  });
  const plan = (crd: DynamicObject): string => planCrd({ spec, binding, crd, bindingExists }).do;
  assert.equal(plan(owned("widgets.example.org", "deleted")), "replace");
  assert.equal(plan(owned("widgets.example.org", "other")), "leaveForeign");
  assert.equal(plan(owned("another", "deleted")), "leaveForeign");
  assert.equal(plan({ ...owned("x", "y"), metadata: { name: "widgets.example.org" } }), "leaveForeign");
});

test("the storage version is synced when it is served, and only asked-for claims count as accepted", () => {
  assert.equal(syncedVersion(spec)?.name, "v2");
  const claim = { group: "", resource: "secrets", version: "v1", selector: { owner: "Provider" } } as const;
  const accepted = { ...claim, state: "Accepted" } as const;
  assert.deepEqual(effectiveClaims([accepted], [claim]), [accepted]);
  assert.deepEqual(effectiveClaims([{ ...claim, state: "Rejected" }], [claim]), []);
  assert.deepEqual(effectiveClaims([accepted], []), []);
  assert.deepEqual(effectiveClaims([{ ...accepted, selector: { owner: "Consumer" } }], [claim]), []);
});

const established = { conditions: [{ type: "Established", status: "True" }] };
const ownCrd = (names: object, more: object = {}): DynamicObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: binding.name,
    ownerReferences: [
      {
        apiVersion: "klutch.anynines.com/v1alpha1",
        kind: "APIServiceBinding",
        name: binding.name,
        uid: "new",
      },
    ],
  },
  spec: {
    group: "example.org",
    names: { plural: "widgets", kind: "Widget", singular: "widget", listKind: "WidgetList", ...names },
    scope: "Namespaced",
    versions: [{ name: "v1", served: true, storage: true, subresources: { status: {} } }],
    ...more,
  },
  status: established,
});

test("what an API is never changes once it was served; its short names and categories may", () => {
  const plan = (crd: DynamicObject): unknown => planCrd({ spec, binding, crd, bindingExists });
  for (const [crd, change] of [
    [ownCrd({ kind: "Gadget" }), 'spec.names.kind is "Widget" instead of "Gadget"'],
    [ownCrd({ singular: "gadget" }), 'spec.names.singular is "widget" instead of "gadget"'],
    [ownCrd({ listKind: "Widgets" }), 'spec.names.listKind is "WidgetList" instead of "Widgets"'],
    [ownCrd({}, { scope: "Cluster" }), 'spec.scope is "Namespaced" instead of "Cluster"'],
    [ownCrd({}, { group: "other.org" }), 'spec.group is "example.org" instead of "other.org"'],
  ] as const)
    assert.deepEqual(plan(crd), { do: "refuseIdentity", change });
  for (const crd of [
    ownCrd({ shortNames: ["w"], categories: ["all"] }),
    { ...ownCrd({ kind: "Gadget" }), status: { conditions: [] } },
  ])
    assert.equal((plan(crd) as { do: string }).do, "replace");
});

test("the synced type is read of the CRD in the app cluster, in a version that the provider still serves", () => {
  const crd = ownCrd({});
  assert.deepEqual(syncedType(crd, spec), {
    type: { group: "example.org", version: "v1", plural: "widgets", kind: "Widget", namespaced: true },
    statusSubresource: true,
    view: plainView,
  });
  const elsewhere = { ...spec, group: "", names: { plural: "secrets", kind: "Secret" } };
  assert.deepEqual(syncedType(crd, elsewhere), syncedType(crd, spec));
  assert.equal(syncedType(crd, { ...spec, versions: spec.versions.slice(1) }), undefined);
  const unread = ownCrd({}, { versions: [{ name: "v2", served: true, storage: true }] });
  assert.equal(syncedType(unread, spec)?.statusSubresource, false);
});

test("a claim that is missing was deleted only if its kind is served, and was when the upstream object was made", () => {
  const inForce = { isInForce: true, createdAt: "2026-01-02T00:00:00Z" };
  assert.equal(judgeAbsence(inForce, "2026-01-02T00:00:01Z"), "deleted");
  assert.equal(judgeAbsence(inForce, "2026-01-01T23:59:59Z"), "lostWithCrd");
  assert.equal(judgeAbsence(inForce, "2026-01-02T00:00:00Z"), "lostWithCrd");
  assert.equal(judgeAbsence({ ...inForce, isInForce: false }, "2026-01-03T00:00:00Z"), "nothing");
  assert.equal(judgeAbsence({ isInForce: false, createdAt: undefined }, undefined), "nothing");
});
