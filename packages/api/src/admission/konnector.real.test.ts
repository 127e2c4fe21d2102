import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isForbidden, type KubeClient } from "@klutch/kube";
import {
  clusterRoles,
  configMaps,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  secrets,
  serviceAccounts,
} from "@klutch/kube-core";
import {
  applyPolicies,
  crdObject,
  installKinds,
  namespaceObject,
  serviceAccountObject,
  leaseCluster,
  unlimitedClient,
  waitFor,
} from "@klutch/kube-testing";
import { apiServiceBindingCrd } from "../index.ts";
import * as resources from "../resources.ts";
import { type KonnectorScope, konnectorPolicyManifests, konnectorScopeOf } from "./konnector.ts";
import { refused } from "./testing/refused.ts";

const cluster = await leaseCluster({ name: "konnector-policy" });
after(() => cluster[Symbol.asyncDispose]());
const admin = cluster.client;
/** Acts as the agent's account, with the unlimited rights that an older agent's role gives it. */
const agent: KubeClient = unlimitedClient(cluster, { namespace: "klutch-bind", name: "konnector" });
after(() => agent[Symbol.asyncDispose]());

const widgets: ResourceType = {
  group: "example.org",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};
const gadgets: ResourceType = { ...widgets, plural: "gadgets", kind: "Gadget" };
/** Applies the policy and waits until it is in force. */
async function confine(scope: KonnectorScope, isInForce: () => Promise<boolean>): Promise<void> {
  await applyPolicies(admin, konnectorPolicyManifests(scope));
  await waitFor("the policy to be in force", isInForce);
}

function crd(type: ResourceType): DynamicObject {
  const object = crdObject(type);
  const owner = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    name: object.metadata.name ?? "",
    uid: "11111111-1111-1111-1111-111111111111",
  };
  return { ...object, metadata: { ...object.metadata, ownerReferences: [owner] } };
}

function secret(namespace: string, name: string, fields: object = {}, annotations = {}): KubeObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { namespace, name, annotations }, ...fields };
}

const owned = { "klutch.anynines.com/resource-owner": "Provider" };

for (const name of ["klutch-bind", "team"]) await admin.create(namespaces, namespaceObject(name));
await installKinds(admin, [apiServiceBindingCrd]);

const kindRefused = /may write only .*accepted claims and its own objects/;

test("while nothing is bound the agent writes no Secret anywhere but in its own namespace", async () => {
  let attempts = 0;
  const tryAgain = (): Promise<boolean> =>
    agent.create(secrets, secret("team", `probe-${attempts++}`)).then(() => false, isForbidden);
  await confine({ apis: [], claims: [], secretTypes: [] }, tryAgain);
  await agent.create(secrets, secret("klutch-bind", "kubeconfig-abc"));
  await confine(
    { apis: ["widgets.example.org"], claims: ["secrets"], secretTypes: ["example.org/odd"] },
    async () => !(await tryAgain()),
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
    claims: ["secrets"],
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
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "team", name: "c" } };
  await refused(agent.create(configMaps, configMap), kindRefused);
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

test("a person's own Secret is neither changed nor deleted, but may be marked; a marked one may be changed and deleted", async () => {
  const own = { namespace: "team", name: "own" };
  await admin.create(secrets, secret("team", "own", { data: { a: "MQ==" } }));
  const reason = /may change or delete only what carries klutch\.anynines\.com\/resource-owner/;
  await refused(agent.mergePatch(secrets, own, { data: { a: "Mg==" } }), reason);
  await refused(agent.delete(secrets, own), reason);
  await agent.mergePatch(secrets, own, { metadata: { annotations: owned } });
  await agent.mergePatch(secrets, own, { data: { a: "Mg==" } });
  await agent.delete(secrets, own);
});

test("a binding's answers stay a person's, and only CRDs of bound APIs are written", async () => {
  const binding = { namespace: "klutch-bind", name: "widgets.example.org" };
  await waitFor("bindings to be served", () =>
    admin
      .create<DynamicObject>(resources.apiServiceBindings, {
        apiVersion: "klutch.anynines.com/v1alpha1",
        kind: "APIServiceBinding",
        metadata: binding,
        spec: {
          kubeconfigSecretRef: { namespace: "klutch-bind", name: "kubeconfig-abc", key: "kubeconfig" },
        },
      })
      .then(
        () => true,
        () => false,
      ),
  );
  await agent.mergePatch(resources.apiServiceBindings, binding, {
    metadata: { finalizers: ["klutch.anynines.com/unbind"] },
  });
  const claim = { group: "", resource: "pods", version: "v1", state: "Accepted" };
  await refused(
    agent.mergePatch(resources.apiServiceBindings, binding, { spec: { permissionClaims: [claim] } }),
    /may not change what a binding allows/,
  );
  const crds = customResourceDefinitions;
  const reason = /only CustomResourceDefinitions of bound APIs/;
  await refused(agent.create(crds, crd(gadgets)), reason);
  await refused(
    agent.mergePatch(crds, { name: "widgets.example.org" }, { metadata: { ownerReferences: null } }),
    reason,
  );
  const webhook = {
    strategy: "Webhook",
    webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://127.0.0.1:1/" } },
  };
  await refused(
    agent.mergePatch(crds, { name: "widgets.example.org" }, { spec: { conversion: webhook } }),
    reason,
  );
  await agent.mergePatch(crds, { name: "widgets.example.org" }, { metadata: { labels: { a: "b" } } });
});

test("everybody else is not touched by it", async () => {
  await admin.create(secrets, secret("kube-system", "of-an-admin"));
});
