import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isForbidden, serviceAccountToken } from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  leases,
  namespaces,
  type ResourceType,
  roleBindings,
  secrets,
  serviceAccounts,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import * as resources from "../resources.ts";
import {
  confineBackend,
  identity,
  object,
  ofAppCluster,
  ofMapping,
  podSecurity,
} from "./testing/backend-account.ts";
import { refused } from "./testing/refused.ts";

const confined = await confineBackend("backend-policy");
after(() => confined[Symbol.asyncDispose]());
const { admin, backend, create } = confined;

const rbac = "rbac.authorization.k8s.io";
const binder = (namespace: string): object => ({ kind: "ServiceAccount", name: "klutch-binder", namespace });

test("the backend makes, marks and removes namespaces of tenants, and touches no other", async () => {
  await create(namespaces, { name: "tenant", annotations: identity, labels: podSecurity });
  await create(namespaces, { name: "tenant-team", annotations: ofMapping, labels: podSecurity });
  await create(namespaces, {
    name: "klutch-bind-default-one",
    annotations: ofAppCluster,
    labels: podSecurity,
  });
  await create(namespaces, { name: "tenant-short", annotations: ofMapping, labels: podSecurity });
  const members = { "klutch.anynines.com/members": "[]" };
  await backend.mergePatch(namespaces, { name: "tenant" }, { metadata: { annotations: members } });
  await backend.delete(namespaces, { name: "tenant-short" });
  const reason = /may write only namespaces that an annotation of Klutch marks/;
  await refused(create(namespaces, { name: "unmarked" }), reason);
  await refused(create(namespaces, { name: "kube-new", annotations: identity }), reason);
  for (const name of ["kube-system", "default", "foreign", "klutch-backend", "crossplane-system"]) {
    // A mark that it sets itself proves nothing.
    await refused(backend.mergePatch(namespaces, { name }, { metadata: { annotations: identity } }), reason);
  }
  // Kubernetes itself keeps its own from being deleted.
  for (const name of ["foreign", "klutch-backend"])
    await refused(backend.delete(namespaces, { name }), reason);
  await admin.mergePatch(namespaces, { name: "crossplane-system" }, { metadata: { annotations: identity } });
  await refused(backend.delete(namespaces, { name: "crossplane-system" }), reason);
  await refused(
    create(secrets, { namespace: "crossplane-system", name: "s" }),
    /only in namespaces of tenants/,
  );
});

test("namespaces of tenants enforce the Pod Security Standard, and nothing that steers others is written on them", async () => {
  const enforce = "pod-security.kubernetes.io/enforce";
  const level = /may make only namespaces with the label pod-security\.kubernetes\.io\/enforce=restricted/;
  await refused(create(namespaces, { name: "tenant-open", annotations: identity }), level);
  const privileged = { [enforce]: "privileged" };
  await refused(
    create(namespaces, { name: "tenant-open", annotations: identity, labels: privileged }),
    level,
  );
  for (const value of ["privileged", "baseline", null])
    await refused(
      backend.mergePatch(namespaces, { name: "tenant" }, { metadata: { labels: { [enforce]: value } } }),
      level,
    );
  const others = /may set and remove no labels and annotations but those of Klutch/;
  for (const steering of [
    { labels: { [`${enforce}-version`]: "v1.0" } },
    { labels: { "istio-injection": "enabled" } },
    { annotations: { "scheduler.alpha.kubernetes.io/node-selector": "a=b" } },
  ])
    await refused(backend.mergePatch(namespaces, { name: "tenant" }, { metadata: steering }), others);
  // Of an earlier release, and one that an operator chose a level for: raised once, and otherwise left.
  const before = { name: "tenant-before", annotations: ofMapping };
  await admin.create(namespaces, object(namespaces, before));
  const note = { metadata: { annotations: { "klutch.anynines.com/members": "[]" } } };
  await backend.mergePatch(namespaces, { name: before.name }, note);
  await backend.mergePatch(namespaces, { name: before.name }, { metadata: { labels: podSecurity } });
  const chosen = { name: "tenant-chosen", annotations: ofMapping, labels: { [enforce]: "baseline", a: "b" } };
  await admin.create(namespaces, object(namespaces, chosen));
  await backend.mergePatch(namespaces, { name: chosen.name }, note);
  await refused(
    backend.mergePatch(namespaces, { name: chosen.name }, { metadata: { labels: { a: null } } }),
    others,
  );
});

test("accounts and tokens are those of the app clusters", async () => {
  const tenants = { namespace: "tenant", name: "klutch-binder" };
  await create(serviceAccounts, tenants);
  const options = { expirationSeconds: 3600, signal: new AbortController().signal };
  await serviceAccountToken(backend, tenants, options);
  await refused(
    create(serviceAccounts, { namespace: "tenant", name: "other" }),
    /only service accounts and tokens/,
  );
  for (const ref of [
    { namespace: "foreign", name: "klutch-binder" },
    { namespace: "kube-system", name: "klutch-binder" },
  ]) {
    await refused(create(serviceAccounts, ref), /only in namespaces of tenants/);
    await admin.create(serviceAccounts, object(serviceAccounts, ref));
    await refused(serviceAccountToken(backend, ref, options), /only in namespaces of tenants/);
  }
  await admin.create(serviceAccounts, object(serviceAccounts, { namespace: "tenant", name: "other" }));
  await refused(
    serviceAccountToken(backend, { namespace: "tenant", name: "other" }, options),
    /only service accounts and tokens/,
  );
});

test("Secrets are written in namespaces of tenants only, and none that makes a credential of another account", async () => {
  await create(secrets, { namespace: "tenant", name: "kubeconfig" }, { data: { kubeconfig: "MQ==" } });
  const type = "kubernetes.io/service-account-token";
  const annotations = { "kubernetes.io/service-account.name": "klutch-binder" };
  await create(secrets, { namespace: "tenant", name: "klutch-binder", annotations }, { type });
  await backend.mergePatch(
    secrets,
    { namespace: "tenant", name: "kubeconfig" },
    { data: { kubeconfig: "Mg==" } },
  );
  // In control-plane mode a copy that may not be changed is created again.
  const tls = { type: "kubernetes.io/basic-auth", stringData: { username: "a" } };
  await admin.create(secrets, object(secrets, { namespace: "klutch-bind-default-one", name: "copy" }, tls));
  await backend.delete(secrets, { namespace: "klutch-bind-default-one", name: "copy" });
  const reason = /may not write Secrets of this type/;
  await refused(create(secrets, { namespace: "tenant", name: "planted" }, tls), reason);
  await refused(create(secrets, { namespace: "tenant", name: "planted", annotations }, { type }), reason);
  await refused(
    create(
      secrets,
      {
        namespace: "tenant-team",
        name: "klutch-binder",
        annotations: { ...annotations, "kubernetes.io/service-account.name": "other" },
      },
      { type },
    ),
    reason,
  );
  await admin.create(secrets, object(secrets, { namespace: "foreign", name: "own" }));
  const elsewhere = /only in namespaces of tenants/;
  await refused(backend.delete(secrets, { namespace: "foreign", name: "own" }), elsewhere);
  await refused(
    backend.mergePatch(secrets, { namespace: "foreign", name: "own" }, { data: { a: "MQ==" } }),
    elsewhere,
  );
  await refused(create(secrets, { namespace: "kube-system", name: "planted" }), elsewhere);
});

test("the status of an object is written in namespaces of tenants only, and nothing else of it", async () => {
  const quotas: ResourceType = {
    group: "",
    version: "v1",
    plural: "resourcequotas",
    kind: "ResourceQuota",
    namespaced: true,
  };
  const [own, others] = ["tenant-team", "foreign"].map((namespace) => ({ namespace, name: "any" }));
  assert.ok(own !== undefined && others !== undefined);
  for (const ref of [own, others]) await admin.create(quotas, object(quotas, ref, { spec: {} }));
  const note = { status: { used: { pods: "1" } } };
  await backend.mergePatch(quotas, own, note, { subresource: "status" });
  const reason = /may write only objects of Klutch and what belongs to tenants/;
  await refused(backend.mergePatch(quotas, others, note, { subresource: "status" }), reason);
  await refused(backend.mergePatch(quotas, own, { metadata: { labels: { a: "b" } } }), reason);
});

test("roles of Klutch are bound, and to accounts of app clusters only", async () => {
  const ref = (name: string, kind = "ClusterRole"): object => ({ apiGroup: rbac, kind, name });
  const subjects = [binder("tenant")];
  const bind = (namespace: string, name: string, fields: object): Promise<unknown> =>
    create(roleBindings, { namespace, name }, { subjects, ...fields });
  await bind("tenant", "klutch-binder", { roleRef: ref("klutch-binder") });
  await bind("tenant-team", "klutch-binder", { roleRef: ref("klutch-binder-tenant") });
  await bind("klutch-bind-default-one", "control-plane-connector", {
    roleRef: ref("control-plane-connector", "Role"),
  });
  const own = { name: "klutch-binder-tenant:cluster-wide" };
  await create(clusterRoleBindings, own, { subjects, roleRef: ref(own.name) });
  await refused(
    bind("kube-system", "klutch-binder", { roleRef: ref("klutch-binder") }),
    /only in namespaces of tenants/,
  );
  await refused(
    bind("tenant", "control-plane-connector", { roleRef: ref("cluster-admin") }),
    /bind only roles of Klutch/,
  );
  await refused(bind("tenant", "other", { roleRef: ref("klutch-binder") }), /bind only roles of Klutch/);
  const toWhom = /give rights only to service accounts klutch-binder/;
  for (const subject of [
    { kind: "ServiceAccount", name: "default", namespace: "tenant" },
    { kind: "User", name: "klutch-binder", apiGroup: rbac },
    { kind: "Group", name: "system:authenticated", apiGroup: rbac },
  ]) {
    const both = { subjects: [...subjects, subject] };
    await refused(
      backend.mergePatch(roleBindings, { namespace: "tenant", name: "klutch-binder" }, both),
      toWhom,
    );
    await refused(backend.mergePatch(clusterRoleBindings, own, both), toWhom);
  }
  await refused(
    create(
      clusterRoleBindings,
      { name: "klutch-binder-admin:cluster-wide" },
      { subjects, roleRef: ref("cluster-admin") },
    ),
    /bind in the whole cluster only a role of its own/,
  );
  await refused(
    create(
      clusterRoleBindings,
      { name: "klutch-binder-tenant" },
      { subjects, roleRef: ref("klutch-binder-tenant") },
    ),
    /bind in the whole cluster only a role of its own/,
  );
  await refused(
    create(clusterRoleBindings, { name: "admins" }, { subjects, roleRef: ref("cluster-admin") }),
    /names begin with klutch-binder-/,
  );
  await refused(
    backend.delete(clusterRoleBindings, { name: "cluster-admin" }),
    /names begin with klutch-binder-/,
  );
  // An existing backend made it, and it goes.
  await admin.create(
    clusterRoleBindings,
    object(
      clusterRoleBindings,
      { name: "klutch-binder-old" },
      { subjects, roleRef: ref("klutch-binder-old") },
    ),
  );
  await backend.delete(clusterRoleBindings, { name: "klutch-binder-old" });
  await backend.delete(clusterRoleBindings, own);
  await backend.delete(clusterRoles, own);
});

const claimsAll = { spec: { permissionClaims: [{ resource: "secrets", version: "v1" }] } };

test("Klutch's kinds, events and its own lease are written; nothing else is", async () => {
  const cluster = { namespace: "tenant", name: "cluster" };
  const spec = { kubeconfigSecretRef: { name: "kubeconfig", key: "kubeconfig" }, providerPrettyName: "Test" };
  await waitFor("ClusterBindings to be served", () =>
    create(resources.clusterBindings, cluster, { spec }).then(
      () => true,
      (error: unknown) => {
        assert.ok(!isForbidden(error), String(error));
        return false;
      },
    ),
  );
  await backend.mergePatch(
    resources.clusterBindings,
    cluster,
    { status: { conditions: [] } },
    { subresource: "status" },
  );
  await backend.delete(resources.clusterBindings, cluster);
  const lease = { namespace: "klutch-backend", name: "klutch-backend" };
  await create(leases, lease, { spec: { holderIdentity: "one" } });
  await backend.mergePatch(leases, lease, { spec: { holderIdentity: "" } });
  const only = /may write only objects of Klutch and what belongs to tenants/;
  await refused(create(leases, { ...lease, namespace: "kube-system" }), only);
  await refused(
    create(
      resources.apiServiceExportTemplates,
      { namespace: "tenant", name: "t" },
      {
        spec: { APIServiceSelector: { group: "example.org", resource: "widgets" } },
      },
    ),
    only,
  );
  // Of a template only the status is the backend's: else it could offer APIs by itself, with permission claims.
  const template = { namespace: "tenant", name: "offered" };
  const selects = { spec: { APIServiceSelector: { group: "example.org", resource: "widgets" } } };
  await admin.create(
    resources.apiServiceExportTemplates,
    object(resources.apiServiceExportTemplates, template, selects),
  );
  const state = { status: { kind: "Widget", boundClusters: 1 }, ...claimsAll };
  const written = await backend.mergePatch<DynamicObject>(
    resources.apiServiceExportTemplates,
    template,
    state,
    { subresource: "status" },
  );
  assert.deepEqual(written["spec"], selects.spec);
  await refused(backend.mergePatch(resources.apiServiceExportTemplates, template, claimsAll), only);
  await refused(backend.delete(resources.apiServiceExportTemplates, template), only);
  const names = { plural: "widgets", kind: "Widget" };
  const versions = [
    { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
  ];
  await refused(
    create(
      customResourceDefinitions,
      { name: "widgets.example.org" },
      {
        spec: { group: "example.org", scope: "Namespaced", names, versions },
      },
    ),
    only,
  );
  const configMaps: ResourceType = { ...secrets, plural: "configmaps", kind: "ConfigMap" };
  await refused(create(configMaps, { namespace: "tenant", name: "c" }), only);
});

test("everybody else is not touched by it", async () => {
  await admin.create(secrets, object(secrets, { namespace: "kube-system", name: "of-an-admin" }));
  await admin.delete(namespaces, { name: "foreign" });
});
