import { after, test } from "node:test";
import { isForbidden } from "@klutch/kube";
import {
  configMaps,
  type DynamicObject,
  leases,
  namespaces,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import {
  applyPolicies,
  installKinds,
  leaseCluster,
  objectOfType,
  secretObject,
  unlimitedClient,
  waitFor,
} from "@klutch/kube-testing";
import { providerCrds } from "../crds.ts";
import { providerConfigs } from "../resources.ts";
import { providerPolicyManifests } from "./provider.ts";
import { refused } from "./testing/refused.ts";

const cluster = await leaseCluster({ name: "provider-policy" });
after(() => cluster[Symbol.asyncDispose]());
const admin = cluster.client;
const home = "crossplane-system";
const account = { namespace: home, name: "klutch-provider-anynines-0123456789ab" };
const provider = unlimitedClient(cluster, account);
after(() => provider[Symbol.asyncDispose]());

for (const name of [home, "team"]) await admin.create(namespaces, objectOfType(namespaces, { name }));
await installKinds(admin, providerCrds);
await applyPolicies(admin, providerPolicyManifests);
await waitFor("the policy to be in force", () =>
  provider
    .create(secrets, secretObject("team", "probe", {}), { dryRun: true })
    .then(() => false, isForbidden),
);

const type = "connection.crossplane.io/v1alpha1";
const ownedBy = (apiVersion: string, more: object = {}): Partial<DynamicObject["metadata"]> => ({
  ownerReferences: [{ apiVersion, kind: "ServiceBinding", name: "b", uid: "1", controller: true, ...more }],
});
const ours = ownedBy("dataservices.anynines.com/v1");
const create = (
  of: ResourceType,
  metadata: DynamicObject["metadata"],
  fields?: object,
): Promise<DynamicObject> => provider.create<DynamicObject>(of, objectOfType(of, metadata, fields));
const whose =
  /only Secrets of the type connection\.crossplane\.io\/v1alpha1 that a managed resource of its own/;

test("the provider writes connection Secrets that its managed resources control, in both scopes", async () => {
  const own = { namespace: home, name: "own" };
  await create(secrets, { ...own, ...ours }, { type });
  const namespaced = ownedBy("dataservices.m.anynines.com/v1");
  await create(secrets, { namespace: "team", name: "own", ...namespaced }, { type });
  await provider.mergePatch(secrets, own, { data: { password: "MQ==" } });
  await refused(
    provider.mergePatch(secrets, own, {
      metadata: { labels: { "argocd.argoproj.io/secret-type": "cluster" } },
    }),
    /may set no labels and annotations/,
  );
  await refused(provider.mergePatch(secrets, own, { metadata: { ownerReferences: null } }), whose);
  await provider.delete(secrets, own);
});

test("in namespaces of Kubernetes it writes no Secret at all", async () => {
  await refused(
    create(secrets, { namespace: "kube-system", name: "own", ...ours }, { type }),
    /may write no Secrets in namespaces of Kubernetes/,
  );
});

test("other Secrets it neither makes, nor takes over, changes or deletes", async () => {
  const ref = { namespace: "team", name: "foreign" };
  for (const [metadata, fields] of [
    [{}, { type }],
    [ours, { type: "Opaque" }],
    [
      { ...ours, annotations: { "kubernetes.io/service-account.name": "default" } },
      { type: "kubernetes.io/service-account-token" },
    ],
    [ownedBy("example.org/v1"), { type }],
    [ownedBy("dataservices.anynines.com.evil.org/v1"), { type }],
    [ownedBy("dataservices.anynines.com/v1", { controller: false }), { type }],
  ] as const)
    await refused(create(secrets, { ...ref, ...metadata }, fields), whose);
  for (const fields of [{}, { type }]) {
    await admin.create(secrets, { ...secretObject("team", "foreign", { a: "b" }), ...fields });
    await refused(provider.mergePatch(secrets, ref, { data: { a: "MQ==" } }), whose);
    await refused(provider.mergePatch(secrets, ref, { metadata: { ...ours } }), whose);
    await refused(provider.delete(secrets, ref), whose);
    await admin.delete(secrets, ref);
  }
});

test("beside them it writes its kinds, Events and its own lease", async () => {
  const lease = { namespace: home, name: "crossplane-leader-election-provider-anynines" };
  await create(leases, lease, { spec: { holderIdentity: "one" } });
  await provider.mergePatch(leases, lease, { spec: { holderIdentity: "" } });
  const password = { value: "x" };
  const providerCredentials = { source: "None", username: password, password };
  const config = { name: "broker" };
  await admin.create(
    providerConfigs,
    objectOfType(providerConfigs, config, {
      spec: { serviceType: "servicebroker", url: "https://broker.example.org", providerCredentials },
    }),
  );
  await provider.mergePatch(providerConfigs, config, { metadata: { finalizers: ["example.org/in-use"] } });
  await provider.mergePatch(
    providerConfigs,
    config,
    { status: { conditions: [] } },
    { subresource: "status" },
  );
  const only = /may write only its managed resources/;
  await refused(create(leases, { namespace: home, name: "crossplane-leader-election-core" }), only);
  await refused(create(leases, { ...lease, namespace: "team" }), only);
  await refused(create(configMaps, { namespace: home, name: "c" }), only);
  await refused(create(namespaces, { name: "new" }), only);
});

test("accounts of other names are not touched by it", async () => {
  for (const name of ["provider-kubernetes-1", "provider-anyninesx"]) {
    await using one = unlimitedClient(cluster, { namespace: home, name });
    await one.create(secrets, secretObject("team", `of-${name}`, {}));
  }
});
