import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type APIServiceBinding,
  type APIServiceExport,
  boundAnnotation,
  claimedFromLabel,
  clusterNamespaceAnnotation,
  fieldManager,
  type PermissionClaim,
  resourceOwnerAnnotation,
  serviceNamespaceAnnotation,
  syncerFinalizer,
} from "@klutch/api";
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import { type InvariantName, invariantNames, type InvariantSnapshot } from "./invariants-snapshot.ts";
import { checkInvariants, countCompared } from "./invariants.ts";
import { appliedBy, consumerWidget, fieldsOf, providerWidget, tenant } from "./testing/objects.ts";

const now = Date.parse("2026-01-01T12:00:00Z");
const api = "widgets.example.org";
const providerSecrets: PermissionClaim = {
  resource: "secrets",
  version: "v1",
  selector: { owner: "Provider" },
};

function binding(claims: readonly PermissionClaim[]): APIServiceBinding {
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { name: api, namespace: "klutch-bind", uid: "binding-uid" },
    spec: {
      kubeconfigSecretRef: { name: "k", namespace: "klutch-bind", key: "kubeconfig" },
      permissionClaims: claims.map((claim) => ({ ...claim, state: "Accepted" })),
    },
  };
}

function exportOf(scope: "Namespaced" | "Cluster", claims: readonly PermissionClaim[]): APIServiceExport {
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { name: api, namespace: tenant.namespace },
    spec: {
      group: "example.org",
      names: { kind: "Widget", plural: "widgets" },
      scope,
      informerScope: scope,
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: {} } }],
      permissionClaims: claims,
    },
  };
}

const named = (apiVersion: string, kind: string, metadata: ObjectMeta, status?: unknown): DynamicObject => ({
  apiVersion,
  kind,
  metadata,
  status,
});
const mapping = (consumer: string, provider: string): DynamicObject =>
  named(
    "klutch.anynines.com/v1alpha1",
    "APIServiceNamespace",
    { namespace: tenant.namespace, name: consumer },
    { namespace: provider },
  );
const namespace = (name: string, owner?: string): DynamicObject =>
  named("v1", "Namespace", {
    name,
    ...(owner === undefined ? {} : { annotations: { [serviceNamespaceAnnotation]: owner } }),
  });
const secret = (ns: string, data: object, metadata: ObjectMeta = {}): DynamicObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: ns, name: "s", uid: `${ns}-s`, ...metadata },
  type: "Opaque",
  data,
});
const copyOf = (owner: string, uid = tenant.namespaceUid): ObjectMeta => ({
  annotations: { [resourceOwnerAnnotation]: owner },
  labels: { [claimedFromLabel]: uid },
});

interface Changes {
  readonly claims?: readonly DynamicObject[];
  readonly upstreams?: readonly DynamicObject[];
  readonly consumerSecretObjects?: readonly DynamicObject[];
  readonly providerSecretObjects?: readonly DynamicObject[];
  readonly permissionClaims?: readonly PermissionClaim[];
  readonly mappings?: readonly DynamicObject[];
  readonly namespaces?: readonly DynamicObject[] | undefined;
  readonly scope?: "Namespaced" | "Cluster";
  readonly bindings?: readonly APIServiceBinding[];
}

/** Claim `app/w`, its object on the provider, and a Secret of the provider with its copy; with changes. */
function snapshot(changes: Changes = {}): InvariantSnapshot {
  const claims = changes.permissionClaims ?? [providerSecrets];
  const status = { phase: "Ready" };
  return {
    now,
    consumer: {
      objects: {
        [api]: changes.claims ?? [{ ...consumerWidget({ a: 1 }, { labels: { team: "x" } }), status }],
        secrets: changes.consumerSecretObjects ?? [secret("app", { p: "eA==" }, copyOf("Provider"))],
      },
      bindings: changes.bindings ?? [binding(claims)],
      crds: [],
      namespaces: [namespace("app")],
    },
    provider: {
      objects: {
        [api]: changes.upstreams ?? [
          {
            ...providerWidget(
              { a: 1, late: "initialised" },
              { labels: { team: "x" }, annotations: { [boundAnnotation]: "true" } },
            ),
            status,
          },
        ],
        secrets: changes.providerSecretObjects ?? [secret("cluster-a-app", { p: "eA==" })],
      },
      exports: [exportOf(changes.scope ?? "Namespaced", claims)],
      apiServiceNamespaces: changes.mappings ?? [mapping("app", "cluster-a-app")],
      namespaces:
        "namespaces" in changes
          ? changes.namespaces
          : [namespace("cluster-a-app", "cluster-a/app"), namespace("cluster-b-app", "cluster-b/app")],
      tenant,
      otherTenants: [{ namespace: "cluster-b", namespaceUid: "other-uid" }],
    },
  };
}

/** Invariants that some test here has seen violated. */
const shown = new Set<InvariantName>();

function violates(changes: Changes, invariant: InvariantName, object: string, message: RegExp): void {
  const found = checkInvariants(snapshot(changes));
  assert.deepEqual(
    found.map((one) => [one.invariant, one.object]),
    [[invariant, object]],
    JSON.stringify(found),
  );
  assert.match(found[0]?.message ?? "", message);
  shown.add(invariant);
}

const status = { phase: "Ready" };
const claim = (spec: object, metadata?: ObjectMeta): DynamicObject => ({
  ...consumerWidget(spec, metadata),
  status,
});
const onProvider = (spec: object, metadata?: ObjectMeta): DynamicObject => ({
  ...providerWidget(spec, metadata),
  status,
});
const deletedAt = (deletionTimestamp: string): ObjectMeta => ({ deletionTimestamp });
const minutesAgo = "2026-01-01T11:50:00Z";
const justNow = "2026-01-01T11:59:59Z";

test("a correct snapshot has no violations, whether namespaces can be read or not", () => {
  assert.deepEqual(checkInvariants(snapshot()), []);
  assert.deepEqual(checkInvariants(snapshot({ namespaces: undefined })), []);
});

test("only this tenant's objects are counted, and a side that was not read has no count", () => {
  const elsewhere = secret("cluster-b-app", {});
  const seen = snapshot({ providerSecretObjects: [secret("cluster-a-app", { p: "eA==" }), elsewhere] });
  assert.deepEqual(countCompared(seen, "secrets"), { consumer: 1, provider: 1 });
  assert.deepEqual(countCompared(seen, "configmaps"), { consumer: undefined, provider: undefined });
});

test("OneToOne: a bound claim without object on the provider", () => {
  violates({ upstreams: [] }, "OneToOne", `${api} app/w`, /cluster-a-app\/w is missing/);
});

test("OneToOne: an unmarked claim counts once it is older than the grace time", () => {
  const fresh = claim({ a: 1 }, { finalizers: undefined, creationTimestamp: justNow });
  assert.deepEqual(checkInvariants(snapshot({ claims: [fresh], upstreams: [] })), []);
  const old = claim({ a: 1 }, { finalizers: undefined, creationTimestamp: minutesAgo });
  violates({ claims: [old], upstreams: [] }, "OneToOne", `${api} app/w`, /missing/);
});

test("OneToOne: a second object of a claim in another namespace of ours", () => {
  const second = onProvider({ a: 1 }, { namespace: "cluster-a-app-old" });
  const namespaces = [
    namespace("cluster-a-app", "cluster-a/app"),
    namespace("cluster-a-app-old", "cluster-a/app"),
  ];
  violates(
    { claims: [claim({ a: 1 })], upstreams: [onProvider({ a: 1 }), second], namespaces },
    "OneToOne",
    `${api} cluster-a-app-old/w`,
    /second object of claim app\/w/,
  );
});

test("OneToOne: two namespaces on one of the provider", () => {
  const mappings = [mapping("app", "cluster-a-app"), mapping("other", "cluster-a-app")];
  const found = checkInvariants(
    snapshot({ mappings, namespaces: undefined, providerSecretObjects: [], consumerSecretObjects: [] }),
  );
  assert.deepEqual(
    found.filter(({ message }) => message.includes("status.namespace")).map(({ invariant }) => invariant),
    ["OneToOne"],
  );
});

test("an unmapped or pending namespace is not judged", () => {
  const changes = { upstreams: [], providerSecretObjects: [], namespaces: [] };
  assert.deepEqual(checkInvariants(snapshot({ ...changes, mappings: [] })), []);
  const pending = named("klutch.anynines.com/v1alpha1", "APIServiceNamespace", { name: "app" });
  assert.deepEqual(checkInvariants(snapshot({ ...changes, mappings: [pending] })), []);
});

test("Orphan: an object that is marked as bound and has no claim; one that is being deleted or is not marked is none", () => {
  violates({ claims: [] }, "Orphan", `${api} cluster-a-app/w`, /its claim does not exist/);
  const leaving = onProvider({ a: 1 }, { ...deletedAt(justNow), annotations: { [boundAnnotation]: "true" } });
  assert.deepEqual(checkInvariants(snapshot({ claims: [], upstreams: [leaving] })), []);
  assert.deepEqual(
    checkInvariants(snapshot({ claims: [], upstreams: [onProvider({ a: 1 }, { annotations: {} })] })),
    [],
  );
});

test("Content: a field, a label, the mark, and a field that only we still hold; values are never shown", () => {
  const one = (changes: Changes, message: RegExp): void =>
    violates({ upstreams: [onProvider({ a: 1 })], ...changes }, "Content", `${api} app/w`, message);
  one({ claims: [claim({ a: { b: "secret" } })] }, /^spec\.a is not what the claim wants/);
  one({ claims: [claim({ a: 1 }, { labels: { team: "x" } })] }, /^metadata\.labels/);
  one(
    { claims: [claim({ a: 1 })], upstreams: [onProvider({ a: 1 }, { annotations: { other: "1" } })] },
    /^metadata\.annotations\.klutch\.anynines\.com\/bound/,
  );
  const managedFields = [appliedBy(fieldManager, "Apply", fieldsOf({ spec: { a: 1, b: 2 } }))];
  one(
    { claims: [claim({ a: 1 })], upstreams: [onProvider({ a: 1, b: 2 }, { managedFields })] },
    /^spec\.b was removed from the claim/,
  );
});

test("Status: a claim that shows another status than its object on the provider", () => {
  const claims = [{ ...consumerWidget({ a: 1 }), status: { phase: "Creating" } }];
  violates({ claims, upstreams: [onProvider({ a: 1 })] }, "Status", `${api} app/w`, /^status\.phase/);
  const none = { ...providerWidget({ a: 1 }) };
  assert.deepEqual(checkInvariants(snapshot({ claims, upstreams: [none] })), []);
});

test("Finalizer: a deleting claim without object on the provider waits no longer than the grace time", () => {
  const waiting = (since: string): Changes => ({
    claims: [claim({ a: 1 }, { ...deletedAt(since), finalizers: [syncerFinalizer] })],
    upstreams: [],
  });
  assert.deepEqual(checkInvariants(snapshot(waiting(justNow))), []);
  violates(waiting(minutesAgo), "Finalizer", `${api} app/w`, /the provider has nothing of it any more/);
  const served = { ...waiting(minutesAgo), upstreams: [onProvider({ a: 1 })] };
  assert.deepEqual(checkInvariants(snapshot(served)), []);
});

test("Finalizer: a claim whose API is no longer bound", () => {
  violates(
    { bindings: [], providerSecretObjects: [], consumerSecretObjects: [] },
    "Finalizer",
    `${api} app/w`,
    /no APIServiceBinding widgets\.example\.org/,
  );
});

test("Tenancy: a service namespace with another annotation, or that does not exist", () => {
  const changes = { claims: [], upstreams: [], providerSecretObjects: [], consumerSecretObjects: [] };
  violates(
    { ...changes, namespaces: [namespace("cluster-a-app", "cluster-b/app")] },
    "Tenancy",
    "namespaces cluster-a-app",
    /is cluster-b\/app, it must be cluster-a\/app/,
  );
  violates({ ...changes, namespaces: [] }, "Tenancy", "namespaces cluster-a-app", /does not exist/);
});

test("Tenancy: an object of ours in another tenant's namespace, and the other way round", () => {
  const strayed = secret("cluster-b-app", {}, copyOf("Consumer"));
  const own = secret("cluster-a-app", { p: "eA==" });
  violates(
    { providerSecretObjects: [own, strayed] },
    "Tenancy",
    "secrets cluster-b-app/s",
    /stands with tenant cluster-b/,
  );
  const nowhere = secret("default", {}, copyOf("Consumer"));
  violates(
    { providerSecretObjects: [own, nowhere] },
    "Tenancy",
    "secrets default/s",
    /in no service namespace/,
  );
  const foreign = secret("cluster-a-app", {}, { ...copyOf("Consumer", "other-uid"), name: "t" });
  const found = checkInvariants(snapshot({ providerSecretObjects: [own, foreign] }));
  assert.deepEqual(
    found.map(({ invariant, object }) => `${invariant} ${object}`),
    ["Tenancy secrets cluster-a-app/t", "Claimed secrets cluster-a-app/t"],
  );
});

test("Tenancy: a copy in the app cluster without our label", () => {
  const metadata = { annotations: { [resourceOwnerAnnotation]: "Provider" } };
  violates(
    { consumerSecretObjects: [secret("app", { p: "eA==" }, metadata)] },
    "Tenancy",
    "secrets app/s",
    /claimed-from is not set/,
  );
});

test("Claimed: a copy that is missing, different, or without source", () => {
  violates(
    { consumerSecretObjects: [] },
    "Claimed",
    "secrets app/s",
    /is missing; its source is cluster-a-app\/s/,
  );
  const different = secret("app", { p: "eQ==" }, copyOf("Provider"));
  violates({ consumerSecretObjects: [different] }, "Claimed", "secrets app/s", /differs from its source/);
  violates({ providerSecretObjects: [] }, "Claimed", "secrets app/s", /copy without an object/);
});

test("Claimed: two objects that both sides made themselves are no one's copy", () => {
  const own = secret("app", { mine: "eA==" });
  assert.deepEqual(checkInvariants(snapshot({ consumerSecretObjects: [own] })), []);
});

test("a Secret of the consumer on the provider that no accepted claim covers, also when no claim is accepted at all", () => {
  const leaked = [secret("cluster-a-app", { p: "eA==" }, copyOf("Consumer"))];
  const own = [secret("app", { p: "eA==" })];
  const expected = ["Claimed", "secrets cluster-a-app/s", /no accepted claim lets it leave/] as const;
  violates({ providerSecretObjects: leaked, consumerSecretObjects: own }, ...expected);
  violates({ providerSecretObjects: leaked, consumerSecretObjects: own, permissionClaims: [] }, ...expected);
  const consumerSecrets: PermissionClaim = { ...providerSecrets, selector: { owner: "Consumer" } };
  assert.deepEqual(
    checkInvariants(
      snapshot({
        providerSecretObjects: leaked,
        consumerSecretObjects: own,
        permissionClaims: [consumerSecrets],
      }),
    ),
    [],
  );
  const elsewhere = { ...consumerSecrets, selector: { owner: "Consumer", names: ["other"] } } as const;
  violates(
    { providerSecretObjects: leaked, consumerSecretObjects: own, permissionClaims: [elsewhere] },
    ...expected,
  );
});

test("Bookkeeping: a key or a condition of Klutch's own in a claim's status", () => {
  const keyed = { ...status, "klutch.anynines.com/bound": "true" };
  const conditions = { conditions: [{ type: "klutch.anynines.com/Synced", status: "True" }] };
  for (const one of [keyed, conditions]) {
    const claims = [{ ...consumerWidget({ a: 1 }), status: one }];
    const upstreams = [{ ...providerWidget({ a: 1 }), status: one }];
    violates({ claims, upstreams }, "Bookkeeping", `${api} app/w`, /Klutch's own/);
  }
});

test("cluster-scoped claims stand under the prefixed name, and only with our mark", () => {
  const marks = { [boundAnnotation]: "true", [clusterNamespaceAnnotation]: tenant.namespace };
  const ownerReferences = [
    { apiVersion: "v1", kind: "Namespace", name: tenant.namespace, uid: tenant.namespaceUid },
  ];
  const claims = [claim({ a: 1 }, { namespace: undefined })];
  const place = { namespace: undefined, name: "cluster-a-w" };
  const good = onProvider({ a: 1 }, { ...place, annotations: marks, ownerReferences });
  assert.deepEqual(checkInvariants(snapshot({ scope: "Cluster", claims, upstreams: [good] })), []);
  const foreign = onProvider(
    { a: 1 },
    { ...place, annotations: { [clusterNamespaceAnnotation]: "cluster-b" } },
  );
  violates(
    { scope: "Cluster", claims, upstreams: [foreign] },
    "OneToOne",
    `${api} w`,
    /cluster-a-w is missing/,
  );
});

test("every invariant has an example of its violation in this file", () => {
  assert.deepEqual([...shown].toSorted(), invariantNames.toSorted());
});
