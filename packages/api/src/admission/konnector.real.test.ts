import assert from "node:assert/strict";
import { test } from "node:test";
import { isForbidden } from "@klutch/kube";
import {
  clusterRoles,
  configMaps,
  customResourceDefinitions,
  type DynamicObject,
  type ResourceType,
  secrets,
  serviceAccounts,
} from "@klutch/kube-core";
import { serviceAccountObject, waitFor } from "@klutch/kube-testing";
import { type AnsweredPermissionClaim, apiServiceBindings } from "../index.ts";
import { konnectorScopeOf } from "./konnector-scope.ts";
import { konnectorPolicyManifests } from "./konnector.ts";
import {
  configMap,
  crd,
  goneOwner,
  owned,
  ownersRefused,
  secret,
  startConfinedAgent,
  widgets,
} from "./testing/confined-agent.ts";
import { refused } from "./testing/refused.ts";

const { admin, agent, confine } = await startConfinedAgent();

const services: ResourceType = {
  group: "",
  version: "v1",
  plural: "services",
  kind: "Service",
  namespaced: true,
};
/** Claims that people accepted: the provider's Secrets, its own two ConfigMaps, changes of one of the person's, and any Service of one namespace. */
const accepted: readonly AnsweredPermissionClaim[] = [
  {
    resource: "secrets",
    selector: { owner: "Provider" as const, fieldSelectors: ["type=example.org/odd", "metadata.name!=x"] },
  },
  {
    resource: "configmaps",
    selector: { owner: "Provider" as const, names: ["one", "two"], namespaces: ["team"] },
    update: { labels: [{ pattern: "example.org/*" }, { pattern: "*instance" }] },
  },
  {
    resource: "configmaps",
    selector: { owner: "Consumer" as const, names: ["settings"] },
    update: {
      fields: ["data.size", "$.data['max.conn']"],
      annotationsOnConsumerOwnedObjects: [{ pattern: "*/seen" }],
    },
  },
  { resource: "services", autoAdopt: true, selector: { namespaces: ["team"] } },
].map((claim) => ({ ...claim, group: "", version: "v1", state: "Accepted" as const }));

const kindRefused = /may write only .*accepted claims and its own objects/;

test("while nothing is bound the agent writes no Secret anywhere but in its own namespace", async () => {
  let attempts = 0;
  const tryAgain = (): Promise<boolean> =>
    agent.create(secrets, secret("team", `probe-${attempts++}`)).then(() => false, isForbidden);
  await confine({ apis: [], claims: [], secretTypes: [] }, tryAgain);
  await agent.create(secrets, secret("klutch-bind", "kubeconfig-abc"));
  await confine(konnectorScopeOf([{ name: "widgets.example.org", claims: accepted }]), async () =>
    agent.create(secrets, secret("team", `probe-${attempts++}`, {}, owned)).then(
      () => true,
      () => false,
    ),
  );
});

test("what may be written follows from bindings and their accepted claims", () => {
  const claim = { group: "", version: "v1", state: "Accepted" } as const;
  const claims = [
    {
      ...claim,
      resource: "secrets",
      selector: { owner: "Provider", fieldSelectors: ["metadata.name!=x,type=example.org/odd"] },
    },
    { ...claim, resource: "configmaps", state: "Rejected" },
    // Of the consumer's own objects, which are only read.
    { ...claim, resource: "services", selector: { owner: "Consumer" } },
  ] as const;
  const scope = konnectorScopeOf([
    { name: "widgets.example.org", claims },
    { name: "pods", claims: [] },
    { name: "roles.rbac.authorization.k8s.io", claims: [] },
  ]);
  assert.deepEqual(scope, {
    apis: ["widgets.example.org"],
    claims: ["copy secrets */*"],
    secretTypes: ["example.org/odd"],
  });
});

test("a name that would end the expression is no name of a resource", () => {
  assert.throws(
    () => konnectorPolicyManifests({ apis: ["x'] || true || ['"], claims: [], secretTypes: [] }),
    /no name of a resource/,
  );
});

test("the agent writes bound and claimed objects, and nothing else, whatever its role says", async () => {
  await agent.create(customResourceDefinitions, crd(widgets));
  const widget: DynamicObject = {
    apiVersion: "example.org/v1",
    kind: "Widget",
    metadata: { namespace: "team", name: "one" },
  };
  await waitFor("widgets to be served", () =>
    agent.create(widgets, widget).then(
      () => true,
      (error: unknown) => {
        assert.ok(!isForbidden(error), String(error));
        return false;
      },
    ),
  );
  await agent.delete(widgets, { namespace: "team", name: "one" });
  await refused(agent.delete(secrets, { namespace: "klutch-bind", name: "kubeconfig-abc" }), /Klutch/);
  const account = serviceAccountObject({ namespace: "team", name: "a" });
  await refused(agent.create(serviceAccounts, account), kindRefused);
  await refused(
    agent.create(clusterRoles, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "wide" },
    }),
    /ClusterRole|clusterroles/,
  );
});

test("namespaces of Kubernetes and of Klutch are closed to claims", async () => {
  for (const namespace of ["kube-system", "kube-public"]) {
    await refused(
      agent.create(secrets, secret(namespace, "planted", {}, owned)),
      /namespaces of Kubernetes or of Klutch: CREATE secrets kube-/,
    );
  }
});

test("a Secret that a cluster would act upon is refused", async () => {
  for (const type of [
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
    "helm.sh/release.v1",
    "example.org/unknown",
  ]) {
    const annotations = { ...owned, "kubernetes.io/service-account.name": "default" };
    await refused(
      agent.create(secrets, secret("team", "typed", { type }, annotations)),
      /may not write Secrets of this type/,
    );
  }
  const allowed = ["connection.crossplane.io/v1alpha1", "servicebinding.io/postgresql", "example.org/odd"];
  for (const [index, type] of allowed.entries())
    await agent.create(secrets, secret("team", `credentials-${index}`, { type }, owned));
});

const markRefused = /may change or delete only what carries klutch\.anynines\.com\/resource-owner/;
const keysRefused = /no labels and annotations of other controllers/;
test("a person's own Secret or ConfigMap is neither marked nor changed nor deleted", async () => {
  const own = { namespace: "other", name: "own" };
  await admin.create(secrets, secret("other", "own", { data: { a: "MQ==" } }));
  await admin.create(configMaps, configMap(own.namespace, own.name, {}));
  const bodies = [
    { metadata: { annotations: owned } },
    { metadata: { labels: { "argocd.argoproj.io/secret-type": "cluster" } } },
    { metadata: { annotations: { ...owned, "replicator.v1.mittwald.de/replicate-to": "kube-system" } } },
    { metadata: { ownerReferences: [goneOwner] } },
    { metadata: { finalizers: ["example.org/stay"] } },
    { data: { a: "Mg==" } },
    { metadata: { annotations: owned }, data: null },
    { immutable: true },
  ];
  for (const body of bodies) await refused(agent.mergePatch(secrets, own, body), markRefused);
  await refused(agent.delete(secrets, own), markRefused);
  const unnamed = /may write only objects that an accepted claim names/;
  for (const body of [...bodies, { binaryData: { b: "Mg==" } }])
    await refused(agent.mergePatch(configMaps, own, body), unnamed);
  await refused(agent.delete(configMaps, own), markRefused);
  await admin.create(configMaps, configMap("team", "one", {}));
  for (const body of [...bodies, { binaryData: { b: "Mg==" } }])
    await refused(agent.mergePatch(configMaps, { namespace: "team", name: "one" }, body), markRefused);
});

test("no other kind of write leads to a foreign Secret: apply, replacement, JSON patch, deletion of all, a generated name", async () => {
  await admin.create(secrets, secret("other", "foreign", { data: { a: "MQ==" } }));
  const ref = { namespace: "other", name: "foreign" };
  const marking = secret(ref.namespace, ref.name, { data: { a: "Mg==" } }, owned);
  await refused(agent.apply(secrets, marking, { fieldManager: "x", force: true }), markRefused);
  await refused(agent.replace(secrets, marking), markRefused);
  const add = [{ op: "add", path: "/metadata/annotations", value: owned }];
  await refused(agent.jsonPatch(secrets, ref, add), markRefused);
  await refused(agent.mergePatch(secrets, ref, { stringData: { a: "2" } }), markRefused);
  const all = { method: "DELETE", path: "/api/v1/namespaces/other/secrets" } as const;
  await refused(agent.request(all), markRefused);
  const generated = (metadata: object): Promise<unknown> =>
    agent.create(secrets, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { generateName: "x-", ...metadata },
    });
  await refused(generated({ namespace: "kube-system", annotations: owned }), /of Kubernetes or of Klutch/);
  await refused(generated({ namespace: "other" }), /may write no object without/);
});

test("a copy is made with its mark, without owners and finalizers, and with the labels and annotations that cross", async () => {
  const labels = { team: "data", "app.kubernetes.io/name": "db", "klutch.anynines.com/claimed-from": "x" };
  const copy = secret("other", "copy", { data: { a: "MQ==" } }, owned);
  const create = (metadata: object): Promise<unknown> =>
    agent.create(secrets, { ...copy, metadata: { ...copy.metadata, ...metadata } });
  await refused(create({ annotations: {} }), /may write no object without/);
  await refused(create({ ownerReferences: [goneOwner] }), ownersRefused);
  await refused(create({ finalizers: ["example.org/stay"] }), ownersRefused);
  const foreign = [
    "argocd.argoproj.io/secret-type",
    "app.kubernetes.io/instance",
    "replicator.v1.mittwald.de/replicate-to",
    "sealedsecrets.bitnami.com/managed",
    "grafana_dashboard",
    "owner",
  ];
  for (const key of foreign) {
    await refused(create({ labels: { [key]: "x" } }), keysRefused);
    await refused(create({ annotations: { ...owned, [key]: "x" } }), keysRefused);
  }
  await create({ labels });
  const ref = { namespace: "other", name: "copy" };
  for (const key of foreign)
    await refused(agent.mergePatch(secrets, ref, { metadata: { labels: { [key]: "x" } } }), keysRefused);
  await refused(
    agent.mergePatch(secrets, ref, { metadata: { ownerReferences: [goneOwner] } }),
    ownersRefused,
  );
  // Others may add to it; the agent's next write goes on.
  const others = { metadata: { labels: { [foreign[0] ?? ""]: "x" }, finalizers: ["example.org/stay"] } };
  await admin.mergePatch(secrets, ref, others);
  await agent.mergePatch(secrets, ref, { data: { a: "Mg==" } });
  await agent.mergePatch(secrets, ref, { metadata: { finalizers: null } });
  await agent.delete(secrets, ref);
});

test("a claim with patterns lets keys of other domains cross, except those that steer GitOps tools", async () => {
  const metadata = { namespace: "team", name: "two", annotations: owned };
  const create = (labels: Readonly<Record<string, string>>): Promise<unknown> =>
    agent.create(configMaps, { ...configMap("team", "two", {}), metadata: { ...metadata, labels } });
  await refused(create({ "app.kubernetes.io/instance": "x" }), keysRefused);
  await refused(create({ "example.com/tier": "x" }), keysRefused);
  await create({ "example.org/tier": "x" });
  await refused(
    agent.create(configMaps, configMap("team", "three", { annotations: owned })),
    /may write only objects that an accepted claim names/,
  );
});

test("of a person's object the agent changes only the fields and keys that a claim names", async () => {
  const ref = { namespace: "other", name: "settings" };
  const created = configMap(ref.namespace, ref.name, { labels: { a: "b" } });
  await admin.create<DynamicObject>(configMaps, { ...created, data: { size: "1", other: "1" } });
  const patch = (body: object): Promise<unknown> => agent.mergePatch(configMaps, ref, body);
  await patch({ data: { size: "2", "max.conn": "9" } });
  await patch({ metadata: { annotations: { "example.org/seen": "yes" } } });
  await patch({ data: { size: null } });
  const bodies = [
    { data: { other: "2" } },
    { data: { other: null } },
    { data: { another: "2" } },
    { binaryData: { size: "Mg==" } },
    { immutable: true },
    { metadata: { labels: { a: null } } },
    { metadata: { labels: { c: "d" } } },
    { metadata: { annotations: { "example.org/other": "yes" } } },
    { metadata: { annotations: { "argocd.argoproj.io/seen": "yes" } } },
    { metadata: { annotations: owned } },
    { metadata: { ownerReferences: [goneOwner] } },
    { metadata: { finalizers: ["example.org/stay"] } },
  ];
  for (const body of bodies) await refused(patch(body), markRefused);
  await refused(agent.delete(configMaps, ref), markRefused);
  await refused(
    agent.create(configMaps, configMap("team", "settings", { annotations: owned })),
    /may write only objects that an accepted claim names/,
  );
});

test("an object is taken over only where a claim says so, and is marked by that", async () => {
  for (const namespace of ["team", "other"])
    await admin.create(services, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace, name: "web" },
      spec: { ports: [{ port: 80 }], type: "LoadBalancer" },
    } as DynamicObject);
  const body = { metadata: { annotations: owned }, spec: { selector: { app: "other" } } };
  const away = { namespace: "other", name: "web" };
  await refused(agent.mergePatch(services, away, body), /only objects that an accepted claim names/);
  await refused(agent.delete(services, away), markRefused);
  const status = { status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } } };
  await refused(
    agent.mergePatch(services, away, status, { subresource: "status" }),
    /only objects that an accepted claim names/,
  );
  const here = { namespace: "team", name: "web" };
  await refused(agent.mergePatch(services, here, { spec: body.spec }), /may write no object without/);
  await agent.mergePatch(services, here, body);
});

test("everybody else is not touched by it", async () => {
  await admin.create(secrets, secret("kube-system", "of-an-admin"));
});

test("of groups that a person named the agent creates bindings that accept nothing, their CRDs and objects, and no others", async () => {
  const autoBind = { groups: ["auto.example.org"], except: ["odd.auto.example.org"] };
  const binding = (name: string, more: object = {}, metadata: object = {}): DynamicObject => ({
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { namespace: "klutch-bind", name, ...metadata },
    spec: {
      kubeconfigSecretRef: { namespace: "klutch-bind", name: "appcluster-kubeconfig", key: "kubeconfig" },
      ...more,
    },
  });
  const create = (name: string, more: object = {}, metadata: object = {}): Promise<unknown> =>
    agent.create(apiServiceBindings, binding(name, more, metadata));
  await refused(create("dbs.auto.example.org"), kindRefused);
  let attempts = 0;
  await confine({ ...konnectorScopeOf([]), autoBind }, () =>
    create(`probe-${attempts++}.auto.example.org`).then(
      () => true,
      () => false,
    ),
  );
  const annotations = { "klutch.anynines.com/auto-bound": "true" };
  await create("dbs.auto.example.org", {}, { annotations });
  for (const name of ["odd.auto.example.org", "dbs.example.org", "dbs.sub.auto.example.org", "secrets"])
    await refused(create(name), kindRefused);
  const claim = { group: "", version: "v1", resource: "secrets", state: "Accepted" };
  const other = { namespace: "klutch-bind", name: "kubeconfig-other", key: "kubeconfig" };
  for (const [more, metadata] of [
    [{ permissionClaims: [claim] }, {}],
    [{ kubeconfigSecretRef: other }, {}],
    [{}, { labels: { a: "b" } }],
    [{}, { annotations: { "klutch.anynines.com/unbind-policy": "Delete" } }],
  ] as const)
    await refused(
      create("dbs2.auto.example.org", more, metadata),
      /only bindings that accept no permission claim/,
    );
  await refused(
    create("dbs2.auto.example.org", {}, { finalizers: ["example.org/stay"] }),
    /may not add owners/,
  );
  const changed = { spec: { permissionClaims: [claim] } };
  await refused(
    agent.mergePatch(apiServiceBindings, { namespace: "klutch-bind", name: "dbs.auto.example.org" }, changed),
    /may not change what a binding allows/,
  );
  const type = { ...widgets, group: "auto.example.org" };
  await agent.create(customResourceDefinitions, crd(type));
  await refused(
    agent.create(customResourceDefinitions, crd({ ...type, group: "more.example.org" })),
    /only CustomResourceDefinitions of bound APIs/,
  );
});
