/** The check of an app cluster, and of one whose konnector is in Go, on a real API server by an account that may only read. */
import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  apiServiceBindingCrd,
  apiServiceBindings,
  boundAnnotation,
  consumerNamespace,
  konnectorManifests,
  konnectorName,
  syncerFinalizer,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  deployments,
  type DynamicObject,
  listAt,
  namespaces,
  type ResourceType,
  secrets,
  wholeSeconds,
} from "@klutch/kube-core";
import { systemClock } from "@klutch/kube";
import {
  anyObject,
  crdObject,
  installKinds,
  namespaceObject,
  roleObject,
  secretObject,
  untilServed,
  waitFor,
} from "@klutch/kube-testing";
import { startRun } from "../testing/run.ts";
import { startAuditedCluster, verbsOf } from "./testing/audited-cluster.ts";
import { deploy, holdLease } from "./testing/objects.ts";

const audited = await startAuditedCluster();
after(() => audited[Symbol.asyncDispose]());
const { client } = audited.cluster;
const deployment = { namespace: consumerNamespace, name: konnectorName };
const clusterScoped = { ...apiServiceBindings, namespaced: false };
const widgets: ResourceType = {
  group: "test.klutch.example",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};
const name = "widgets.test.klutch.example";

test("a cluster where nothing of Klutch is has nothing to upgrade", async () => {
  const run = await audited.check();
  assert.match(run.stdout(), /looked at a cluster without Klutch/);
  assert.equal(run.code, 0, run.stdout());
});

/** Installs what a plugin and a konnector of version 1.5 in Go leave in an app cluster. */
async function installGo(): Promise<void> {
  await client.create(namespaces, namespaceObject(consumerNamespace));
  await client.create(namespaces, namespaceObject("app"));
  await deploy(client, deployment, "public.example/w5n9a2g2/klutch/konnector:v1.5.0");
  const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  await client.create(clusterRoles, roleObject({ name: "klutch-bind-konnector" }, everything));
  const spec = { ...(apiServiceBindingCrd.spec as object), scope: "Cluster" };
  await installKinds(client, [{ ...apiServiceBindingCrd, spec }]);
  const kubeconfigRef = { namespace: consumerNamespace, name: "kubeconfig-x7k2p" };
  const kubeconfig = "a kubeconfig with a token-of-the-provider";
  await client.create(secrets, secretObject(consumerNamespace, kubeconfigRef.name, { kubeconfig }));
  const claim = { group: "", resource: "secrets", version: "v1", state: "Accepted" };
  const binding = await client.create<DynamicObject>(clusterScoped, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { name },
    spec: { kubeconfigSecretRef: { ...kubeconfigRef, key: "kubeconfig" }, permissionClaims: [claim] },
  });
  const ready = { type: "Ready", status: "True", lastTransitionTime: wholeSeconds(systemClock.now()) };
  const status = { providerPrettyName: "Example Backend", conditions: [ready] };
  await client.mergePatch(clusterScoped, { name }, { status }, { subresource: "status" });
  const owner = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    name,
    uid: binding.metadata.uid ?? "",
    controller: true,
  };
  const crd = crdObject(widgets, { properties: { spec: anyObject, status: anyObject }, hasStatus: true });
  await client.create(customResourceDefinitions, {
    ...crd,
    metadata: { ...crd.metadata, ownerReferences: [owner] },
  });
  await untilServed(client, name);
  for (const [claimed, finalizers] of [
    ["one", [syncerFinalizer]],
    ["two", []],
  ] as const)
    await client.create<DynamicObject>(widgets, {
      apiVersion: "test.klutch.example/v1",
      kind: "Widget",
      metadata: { namespace: "app", name: claimed, finalizers, annotations: { [boundAnnotation]: "true" } },
      spec: { size: 3 },
    });
}

test("an installation in Go is recognised, and each of its parts has an outcome", async () => {
  await installGo();
  const before = await client.list<DynamicObject>(widgets, {});
  const run = await audited.check();
  assert.equal(run.code, 1, run.stdout());
  assert.match(run.stdout(), /konnector +klutch-bind\/konnector +v1\.5\.0/);
  for (const row of [
    /Deployment klutch-bind\/konnector +taken over +public\.example\S+konnector:v1\.5\.0 is replaced/,
    /APIServiceBinding widgets\S+ +taken over +as it is, with its Secret klutch-bind\/kubeconfig-x7k2p and 1 accepted/,
    /CRD apiservicebindings\S+ +left +it stays cluster-scoped/,
    /objects of widgets\S+ +taken over +1 of 2 are synced/,
    /ClusterRole klutch-bind-konnector +taken over +it allows everything; it shrinks/,
  ])
    assert.match(run.stdout(), row);
  assert.match(run.stdout(), /spec\.scope +Cluster +Namespaced, or --accept-take-over/);
  assert.match(run.stderr(), /\b1 obstacle to the upgrade/);
  assert.doesNotMatch(run.stdout(), /token-of-the-provider/);
  const accepted = await audited.check(["--accept-take-over"]);
  assert.equal(accepted.code, 0, accepted.stdout());
  const now = await client.list<DynamicObject>(widgets, {});
  assert.deepEqual(now.items, before.items);
});

test("kubectl bind says before any question that it adds no binding to a cluster-scoped kind", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "klutch-bind-"));
  const KUBECONFIG = join(folder.path, "kubeconfig");
  await writeFile(KUBECONFIG, audited.cluster.kubeconfig);
  const request = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportRequest",
    metadata: { name },
    spec: { resources: [{ group: widgets.group, resource: widgets.plural }] },
  };
  const args = ["apiservice", "-f", "-", "--remote-kubeconfig=not-read"];
  const run = await startRun("kubectl-bind", args, { env: { KUBECONFIG }, stdin: JSON.stringify(request) })
    .done;
  assert.equal(run.code, 1);
  assert.match(
    run.stderr(),
    /No API can be bound here: .*apiservicebindings\S+ of an .* is cluster-scoped.*Nothing was/,
  );
});

test("a CRD of an earlier binding stands against the take-over", async () => {
  const crd = await client.get<DynamicObject>(customResourceDefinitions, { name });
  const [owner] = crd.metadata.ownerReferences ?? [];
  const of = (uid: string): object => ({ metadata: { ownerReferences: [{ ...owner, uid }] } });
  await client.mergePatch(customResourceDefinitions, { name }, of("11111111-0000"));
  const run = await audited.check(["--accept-take-over"]);
  assert.match(run.stdout(), /CRD widgets\S+ +metadata\.ownerReferences\[\]\.uid +11111111-0000/);
  await client.mergePatch(customResourceDefinitions, { name }, of(owner?.uid ?? ""));
});

test("a binding that is not Ready, and a claim that is being deleted, block the upgrade", async () => {
  const setReady = (status: string): Promise<unknown> => {
    const condition = { type: "Ready", status, reason: "SecretInvalid", message: "no\u001b[2J key" };
    const conditions = [{ ...condition, lastTransitionTime: wholeSeconds(systemClock.now()) }];
    const options = { subresource: "status" };
    return client.mergePatch(clusterScoped, { name }, { status: { conditions } }, options);
  };
  await setReady("False");
  await client.delete(widgets, { namespace: "app", name: "one" });
  const run = await audited.check(["--accept-take-over"]);
  assert.match(
    run.stdout(),
    /APIServiceBinding widgets\S+ +status\.conditions\[Ready\] +False SecretInvalid: no\\u001b\[2J key +True: mend/,
  );
  assert.match(run.stdout(), /Widget app\/one +metadata\.deletionTimestamp/);
  assert.match(run.stderr(), /\b2 obstacles to the upgrade\b/);
  await setReady("True");
  await client.mergePatch(widgets, { namespace: "app", name: "one" }, { metadata: { finalizers: null } });
});

test("a konnector of this release, as a process outside of Pods, has nothing against it", async () => {
  const [manifest] = konnectorManifests({ image: "registry.example/klutch/konnector:v1.6.0" }).filter(
    ({ kind }) => kind === "Deployment",
  );
  assert.ok(manifest);
  await client.apply(deployments, manifest, { fieldManager: "test", force: true });
  const none = { status: { replicas: 0, readyReplicas: 0, availableReplicas: 0 } };
  await client.mergePatch(deployments, deployment, none, { subresource: "status" });
  const idle = await audited.check(["--accept-take-over"]);
  assert.match(idle.stdout(), /Deployment klutch-bind\/konnector +status\.availableReplicas +0/);
  await holdLease(client, "somebody");
  const served = await audited.check(["--accept-take-over"]);
  assert.equal(served.code, 0, served.stdout());
  assert.match(served.stdout(), /somebody holds the konnector's lease and renews it in time/);
});

test("only GET and LIST were sent, and what may not be read is said", async () => {
  assert.deepEqual(verbsOf(await audited.requests()), ["get", "list"]);
  await client.delete(clusterRoleBindings, { name: "reader" });
  const blind = await waitFor("the right to be gone", async () => {
    const run = await audited.check(["-o", "json"]);
    const rows = listAt(JSON.parse(run.stdout()), "against");
    return rows.some((row) => JSON.stringify(row).includes("list is forbidden")) && run;
  });
  assert.equal(blind.code, 1);
  assert.match(blind.stdout(), /"object": "deployments\.apps",\s+"field": "rights"/);
});
