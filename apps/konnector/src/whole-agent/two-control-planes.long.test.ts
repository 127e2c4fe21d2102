/** The konnector of one app cluster with two real control planes, each of which has a tenant of the same name for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AnsweredPermissionClaim,
  apiServiceBindings,
  apiServiceNamespaces,
  consumerNamespace,
  kubeconfigKey,
  providerUidAnnotation,
} from "@klutch/api";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  isTrue,
  type KubeObject,
  type ResourceType,
} from "@klutch/kube-core";
import {
  type FaultProxy,
  leaseCluster,
  startFaultProxy,
  TcpProxy,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { bindApi, grantApi, startKonnector, testApi, widget } from "../testing/fixture.ts";
import { serviceNamespace } from "../testing/pair.ts";
import {
  exportCrd,
  installBindCrds,
  installCrd,
  prepareTenant,
  providerSecrets,
  serveNamespaces,
} from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const gadgets = testApi("gadgets", "Gadget");
const gizmos = testApi("gizmos", "Gizmo");
const claim: AnsweredPermissionClaim = { ...providerSecrets, state: "Accepted" };
const fixture = await startTenantFixture({ exported: [{ ...widgets, claims: [providerSecrets] }] });
const { consumer, provider: first, cleanup, binding, untilReady, untilReason, create, onConsumer } = fixture;
const second = await startSecond();
const firstSecret = { namespace: consumerNamespace, name: "kubeconfig-first" };
const secondSecret = { namespace: consumerNamespace, name: "kubeconfig-second" };
const [firstDoor, secondDoor] = [await doorOf(first), await doorOf(second.cluster)];
const [firstGate, newGate, secondGate] = [
  await gateOf(firstDoor),
  await gateOf(firstDoor),
  await gateOf(secondDoor),
];
const through = (kubeconfig: string, { url }: TestCluster, gate: TcpProxy): string =>
  kubeconfig.replace(url, gate.url);
const firstKubeconfig = through(fixture.kubeconfig, first, firstGate);
const movedKubeconfig = through(fixture.kubeconfig, first, newGate);
const secondKubeconfig = through(second.kubeconfig, second.cluster, secondGate);
// The agent brings the copies of the control planes over.
await putKubeconfig(first, providerSecret, firstKubeconfig);
await putKubeconfig(second.cluster, providerSecret, secondKubeconfig);
const konnector = cleanup.use(await startKonnector(fixture, { timing: { unreachableAfterMs: 500 } }));

/** The other control plane: it exports all APIs to its tenant, which has the name of the first one's. */
async function startSecond(): Promise<{ readonly cluster: TestCluster; readonly kubeconfig: string }> {
  const cluster = cleanup.use(await leaseCluster());
  await installBindCrds(cluster);
  const apis = [widgets, gadgets, gizmos];
  for (const { crd } of apis) await installCrd(cluster, crd);
  const kubeconfig = await prepareTenant(
    cluster,
    apis.map(({ type }) => type.plural),
  );
  for (const { crd } of apis) await exportCrd(cluster, crd, {}, [providerSecrets]);
  const stop = new AbortController();
  const serving = serveNamespaces(cluster, stop.signal);
  cleanup.defer(() => serving);
  cleanup.defer(() => stop.abort());
  return { cluster, kubeconfig };
}

/** Sees every credential that comes to the control plane. */
async function doorOf(cluster: TestCluster): Promise<FaultProxy> {
  return cleanup.use(await startFaultProxy(cluster));
}

async function gateOf({ config }: FaultProxy): Promise<TcpProxy> {
  return cleanup.use(await TcpProxy.start(config.server));
}

const objectsOn = async ({ client }: TestCluster, type: ResourceType): Promise<readonly string[]> =>
  (await client.list<DynamicObject>(type)).items.map(({ metadata }) => metadata.name ?? "").toSorted();

/** Makes a claim; resolves once this control plane has it. */
async function createOn(cluster: TestCluster, type: ResourceType, name: string): Promise<DynamicObject> {
  await create(type, widget(type, name, { size: 1 }));
  return await waitFor(`${name} in the control plane`, () =>
    cluster.client.find<DynamicObject>(type, { namespace: serviceNamespace, name }),
  );
}

async function connectedOf(namespace: string, name: string): Promise<ReturnType<typeof findCondition>> {
  const found = await consumer.client.find<DynamicObject>(apiServiceBindings, { namespace, name });
  return findCondition(conditionsOf(found), "Connected");
}

const deletesSince = (from: number): readonly string[] =>
  konnector.writes.slice(from).filter((write) => write.includes(" delete "));

test("each control plane gets the objects of its own API, and nothing of the other", async () => {
  await bindApi(fixture, widgets.name, firstKubeconfig, [claim], firstSecret.name);
  await bindApi(fixture, gadgets.name, secondKubeconfig, [claim], secondSecret.name);
  for (const { name } of [widgets, gadgets]) await untilReady(name);
  await createOn(first, widgets.type, "one");
  await createOn(second.cluster, gadgets.type, "one");
  assert.deepEqual(await objectsOn(second.cluster, widgets.type), []);
});

test("the same API of the other control plane is refused with words, and nothing of it is made there", async () => {
  await consumer.client.create<KubeObject>(apiServiceBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { namespace: "app", name: widgets.name },
    spec: { kubeconfigSecretRef: { ...secondSecret, key: kubeconfigKey } },
  });
  const refused = await waitFor("the refusal", async () => {
    const connected = await connectedOf("app", widgets.name);
    return connected?.reason === "ForeignCustomResourceDefinition" ? connected : undefined;
  });
  assert.match(refused.message ?? "", /belongs to APIServiceBinding widgets/);
  await createOn(first, widgets.type, "two");
  assert.deepEqual(await objectsOn(second.cluster, widgets.type), []);
  await consumer.client.delete(apiServiceBindings, { namespace: "app", name: widgets.name });
});

test("a control plane that cannot be reached delays nothing of the other", async () => {
  await secondGate.shut();
  await untilReason(gadgets.name, "Heartbeating", "ProviderUnreachable");
  await create(gadgets.type, widget(gadgets.type, "waits", {}));
  await createOn(first, widgets.type, "three");
  assert.ok(isTrue(conditionsOf(await binding(widgets.name)), "Ready"));
  await secondGate.open();
  await waitFor("what waited", () =>
    second.cluster.client.find(gadgets.type, { namespace: serviceNamespace, name: "waits" }),
  );
});

test("a binding that was made with one control plane and is restored with the Secret of the other is refused with words, and the others go on", async () => {
  const pinned = (await binding(widgets.name))?.metadata.annotations?.[providerUidAnnotation] ?? "";
  assert.match(pinned, /^namespace=/);
  await grantApi(fixture, gizmos.name, [claim]);
  await consumer.client.create<KubeObject>(apiServiceBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: {
      namespace: consumerNamespace,
      name: gizmos.name,
      annotations: { [providerUidAnnotation]: pinned },
    },
    spec: { kubeconfigSecretRef: { ...secondSecret, key: kubeconfigKey }, permissionClaims: [claim] },
  });
  const message = await untilReason(gizmos.name, "Connected", "WrongProvider");
  assert.match(message, /but this binding was made with \S+: nothing is synced/);
  assert.equal(await consumer.client.find(customResourceDefinitions, { name: gizmos.name }), undefined);
  await createOn(second.cluster, gadgets.type, "goes-on");
  const annotations = { [providerUidAnnotation]: null };
  const ref = { namespace: consumerNamespace, name: gizmos.name };
  await consumer.client.mergePatch(apiServiceBindings, ref, { metadata: { annotations } });
  await untilReady(gizmos.name);
});

test("a control plane at a new address is taken without a restart; edits of the move arrive, and nothing is made again or deleted", async () => {
  const before = konnector.writes.length;
  const ref = { namespace: serviceNamespace, name: "one" };
  const { uid } = (await first.client.get(widgets.type, ref)).metadata;
  await firstGate.shut();
  const claimRef = { namespace: "app", name: "one" };
  await consumer.client.mergePatch(widgets.type, claimRef, { spec: { moved: true } });
  await untilReason(widgets.name, "Heartbeating", "ProviderUnreachable");
  await putKubeconfig(first, providerSecret, movedKubeconfig);
  await putKubeconfig(consumer, firstSecret, movedKubeconfig);
  const moved = await waitFor("the edit", async () => {
    const found = await first.client.get<DynamicObject>(widgets.type, ref);
    return (found["spec"] as { moved?: boolean } | undefined)?.moved === true ? found : undefined;
  });
  assert.equal(moved.metadata.uid, uid);
  await untilReady(widgets.name);
  await createOn(first, widgets.type, "after-the-move");
  assert.deepEqual(deletesSince(before), []);
  assert.deepEqual(await objectsOn(second.cluster, widgets.type), []);
});

test("a kubeconfig that leads to the other control plane is refused with words: nothing is written there and nothing deleted", async () => {
  const before = konnector.writes.length;
  const [claims, upstream] = [await objectsOn(consumer, widgets.type), await objectsOn(first, widgets.type)];
  const mapped = await objectsOn(second.cluster, apiServiceNamespaces);
  await putKubeconfig(consumer, firstSecret, secondKubeconfig);
  const message = await untilReason(widgets.name, "Connected", "WrongProvider");
  assert.match(message, /has UID \S+, but this binding was made with \S+: nothing is synced/);
  await create(widgets.type, widget(widgets.type, "kept", {}));
  await createOn(second.cluster, gadgets.type, "unhurt");
  assert.deepEqual(await objectsOn(second.cluster, widgets.type), []);
  assert.deepEqual(await objectsOn(second.cluster, apiServiceNamespaces), mapped);
  assert.deepEqual(await objectsOn(first, widgets.type), upstream);
  assert.deepEqual(await objectsOn(consumer, widgets.type), [...claims, "kept"].toSorted());
  assert.deepEqual(deletesSince(before), []);
  await putKubeconfig(consumer, firstSecret, movedKubeconfig);
  await untilReady(widgets.name);
  await waitFor("what was kept", async () => (await objectsOn(first, widgets.type)).includes("kept"));
});

test("another control plane at the same address is refused with words, too, although the agent only got new credentials", async () => {
  const before = konnector.writes.length;
  const [claims, upstream] = [await objectsOn(consumer, widgets.type), await objectsOn(first, widgets.type)];
  const mapped = await objectsOn(second.cluster, apiServiceNamespaces);
  newGate.route(secondDoor.config.server);
  newGate.cut();
  await putKubeconfig(consumer, firstSecret, through(second.kubeconfig, second.cluster, newGate));
  await untilReason(widgets.name, "Connected", "WrongProvider");
  await create(widgets.type, widget(widgets.type, "kept-too", {}));
  await createOn(second.cluster, gadgets.type, "unhurt-again");
  assert.deepEqual(await objectsOn(second.cluster, widgets.type), []);
  assert.deepEqual(await objectsOn(second.cluster, apiServiceNamespaces), mapped);
  assert.deepEqual(await objectsOn(first, widgets.type), upstream);
  assert.deepEqual(await objectsOn(consumer, widgets.type), [...claims, "kept-too"].toSorted());
  assert.deepEqual(deletesSince(before), []);
  newGate.route(firstDoor.config.server);
  newGate.cut();
  await putKubeconfig(consumer, firstSecret, movedKubeconfig);
  await untilReady(widgets.name);
  await waitFor("what was kept", async () => (await objectsOn(first, widgets.type)).includes("kept-too"));
});

test("unbinding from one control plane leaves the other as it is", async () => {
  const gadgetsBefore = await objectsOn(second.cluster, gadgets.type);
  await consumer.client.delete(apiServiceBindings, { namespace: consumerNamespace, name: widgets.name });
  await waitFor("the binding to go", async () => (await binding(widgets.name)) === undefined);
  await createOn(second.cluster, gadgets.type, "after");
  assert.deepEqual(await objectsOn(second.cluster, gadgets.type), [...gadgetsBefore, "after"].toSorted());
  assert.ok(isTrue(conditionsOf(await binding(gadgets.name)), "Ready"));
  assert.ok(await onConsumer(gadgets.type, "after"));
});

test("no control plane ever saw a credential for the other", () => {
  const tokenOf = (kubeconfig: string): string | undefined => /\btoken: "?([^\s"]+)/.exec(kubeconfig)?.[1];
  assert.deepEqual([...firstDoor.tokens], [tokenOf(fixture.kubeconfig)]);
  assert.deepEqual([...secondDoor.tokens], [tokenOf(second.kubeconfig)]);
});
