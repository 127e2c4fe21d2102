/** The konnector between two real API servers: restarts, lease, rotation, namespaces, cluster-scoped kinds, foreign input. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  apiServiceBindings,
  apiServiceNamespaces,
  clusterNamespaceAnnotation,
  consumerNamespace,
} from "@klutch/api";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  type KubeObject,
  leases,
  namespaces,
  secrets,
  secretText,
} from "@klutch/kube-core";
import { reservePorts } from "@klutch/engines";
import { secretObject, waitFor } from "@klutch/kube-testing";
import { consumerSecret, providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { serviceNamespace } from "../testing/pair.ts";
import { exportCrd, freshKubeconfig, installCrd, tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import {
  bindApi,
  createBinding,
  grantApi,
  type RunningKonnector,
  startKonnector,
  testApi,
  widget,
} from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
const zones = testApi("zones", "Zone", { namespaced: false });
const prefixed = { informerScope: "Cluster", clusterScopedIsolation: "Prefixed" } as const;
const fixture = await startTenantFixture({
  exported: [widgets, { ...zones, exportSpec: prefixed }],
  clusterWide: true,
});
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer } = fixture;
const { binding, untilReady, create, createSynced } = fixture;
let konnector: RunningKonnector = cleanup.use(await startKonnector(fixture));

const one = { namespace: serviceNamespace, name: "one" };

test("cluster-scoped objects get the tenant's prefix, mark and owner, and their status comes back", async () => {
  // Bound at once, so that the first heartbeat is for both.
  await grantApi(fixture, widgets.name);
  await bindApi(fixture, zones.name, kubeconfig);
  await createBinding(fixture, widgets.name);
  for (const { name } of [zones, widgets]) await untilReady(name);
  const foreign = widget(zones.type, `${tenantNamespace}-taken`, { of: "somebody else" });
  await provider.client.create(zones.type, foreign);
  await create(zones.type, widget(zones.type, "taken", { a: 1 }));
  await create(zones.type, widget(zones.type, "north", { a: 1 }));
  const ref = { name: `${tenantNamespace}-north` };
  const up = await waitFor("the object on the provider", () =>
    provider.client.find<DynamicObject>(zones.type, ref),
  );
  assert.equal(up.metadata.annotations?.[clusterNamespaceAnnotation], tenantNamespace);
  assert.equal(up.metadata.ownerReferences?.[0]?.kind, "Namespace");
  await provider.client.mergePatch(zones.type, ref, { status: { ok: true } }, { subresource: "status" });
  await waitFor("the claim's status", async () => {
    const found = await consumer.client.get<DynamicObject>(zones.type, { name: "north" });
    return (found.status as { ok?: boolean } | undefined)?.ok;
  });
  const untouched = await provider.client.get<DynamicObject>(zones.type, {
    name: foreign.metadata.name ?? "",
  });
  assert.deepEqual(untouched.spec, { of: "somebody else" });
  assert.equal(await consumer.client.find(zones.type, { name: `${tenantNamespace}-taken` }), undefined);
  await waitFor("the event that says the name is taken", () =>
    konnector.writes.includes("consumer create events"),
  );
});

test("a claim costs three writes and none that fail", async () => {
  // It also makes the namespace's mapping.
  await createSynced(widgets.type, "warm", { size: 0 });
  const before = konnector.writes.length;
  await createSynced(widgets.type, "one", { size: 1 });
  await provider.client.mergePatch(widgets.type, one, { status: { phase: "Up" } }, { subresource: "status" });
  await waitFor("the status", async () => (await onConsumer(widgets.type, "one"))?.status);
  const ofTheClaim = konnector.writes.slice(before).filter((write) => !write.endsWith(" events"));
  assert.deepEqual(ofTheClaim, [
    "consumer apply widgets",
    "provider apply widgets",
    "consumer json status widgets",
  ]);
});

test("a no-op of the provider (defaulted field, then nothing) causes no write", async () => {
  const before = konnector.writes.length;
  await provider.client.mergePatch(widgets.type, one, { spec: { defaulted: "x" } });
  // A later write of the same key is the sign that the provider's event was handled.
  await provider.client.mergePatch(widgets.type, one, { status: { phase: "2" } }, { subresource: "status" });
  await waitFor("the second status", async () => {
    const found = await onConsumer(widgets.type, "one");
    return (found?.status as { phase?: string } | undefined)?.phase === "2";
  });
  const writes = konnector.writes.slice(before).filter((write) => !write.endsWith(" events"));
  assert.deepEqual(writes, ["consumer json status widgets"]);
});

test("a restart with synced objects writes nothing", async () => {
  await konnector[Symbol.asyncDispose]();
  konnector = cleanup.use(await startKonnector(fixture, { identity: "second" }));
  await waitFor("readiness", async () => {
    const ready = await fetch(`http://127.0.0.1:${konnector.probePort}/readyz`);
    return ready.ok && konnector.watches.includes("consumer widgets");
  });
  await createSynced(widgets.type, "marker", { size: 1 });
  const ofMarker = ["consumer apply widgets", "provider apply widgets"];
  assert.deepEqual(
    konnector.writes.filter((write) => !write.endsWith(" events")),
    ofMarker,
  );
});

test("fresh credentials of the provider are taken over without restarting a watch", async () => {
  const next = await freshKubeconfig(provider);
  const before = { watches: konnector.watches.length };
  await putKubeconfig(provider, providerSecret, next);
  await waitFor("the consumer's Secret", async () => {
    const found = await consumer.client.get<DynamicObject>(secrets, consumerSecret);
    return secretText(found, "kubeconfig") === next;
  });
  await waitFor(
    "the rotation to be counted",
    async () => (await metric("klutch_credential_rotations_total")) === 1,
  );
  await consumer.client.mergePatch(widgets.type, { namespace: "app", name: "one" }, { spec: { size: 5 } });
  await waitFor("an edit under the new credentials", async () => {
    const found = await onProvider(widgets.type, "one");
    return (found?.spec as { size?: number } | undefined)?.size === 5;
  });
  assert.equal(konnector.watches.length, before.watches);
});

const leads = `leader_election_master_status\\{name="${consumerNamespace}"\\}`;
const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${konnector.probePort}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
};

test("without the lease nothing is written, and with it the work goes on", async () => {
  const ref = { namespace: consumerNamespace, name: consumerNamespace };
  const holder = (holderIdentity: string): Promise<KubeObject> =>
    consumer.client.mergePatch(leases, ref, { spec: { holderIdentity, leaseDurationSeconds: 3600 } });
  const standsBy = (): number => konnector.watches.filter((watch) => watch === "consumer leases").length;
  const stoodBy = standsBy();
  await holder("thief");
  await waitFor("the loss to be noticed", async () => (await metric(leads)) === 0);
  const before = konnector.writes.length;
  await create(widgets.type, widget(widgets.type, "later", { size: 1 }));
  await waitFor("it to stand by", () => standsBy() > stoodBy);
  assert.equal(await onProvider(widgets.type, "later"), undefined);
  assert.equal(konnector.writes.length, before);
  await holder("");
  await waitFor("the object after the lease came back", () => onProvider(widgets.type, "later"));
});

test("a mapped namespace that goes takes its upstream along, and nothing crashes", async () => {
  await consumer.client.create(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "gone" },
  });
  await create(widgets.type, widget(widgets.type, "in-gone", { size: 1 }, { namespace: "gone" }));
  const upstream = (): Promise<unknown> =>
    provider.client.find(widgets.type, { namespace: `${tenantNamespace}-gone`, name: "in-gone" });
  await waitFor("the object on the provider", upstream);
  await consumer.client.delete(namespaces, { name: "gone" });
  // No controller manager runs: its part of ending a namespace is played here.
  const claim = { namespace: "gone", name: "in-gone" };
  await consumer.client.delete(widgets.type, claim);
  await waitFor(
    "the claim to be gone",
    async () => (await consumer.client.find(widgets.type, claim)) === undefined,
  );
  assert.equal(await upstream(), undefined);
  const mapping = { namespace: tenantNamespace, name: "gone" };
  assert.ok(await provider.client.find(apiServiceNamespaces, mapping));
  const ending = await consumer.client.get<DynamicObject>(namespaces, { name: "gone" });
  await consumer.client.request({
    method: "PUT",
    path: "/api/v1/namespaces/gone/finalize",
    body: { ...ending, spec: { finalizers: [] } },
  });
  await waitFor(
    "the mapping to be released",
    async () => (await provider.client.find(apiServiceNamespaces, mapping)) === undefined,
  );
  await createSynced(widgets.type, "after", { size: 1 });
});

test("an upstream object whose claim vanished while no one looked goes after two live looks", async () => {
  await konnector[Symbol.asyncDispose]();
  await consumer.client.mergePatch(
    widgets.type,
    { namespace: "app", name: "after" },
    { metadata: { finalizers: null } },
  );
  await consumer.client.delete(widgets.type, { namespace: "app", name: "after" });
  konnector = cleanup.use(await startKonnector(fixture, { identity: "third" }));
  await waitFor("the orphan to be gone", async () => (await onProvider(widgets.type, "after")) === undefined);
  assert.ok(await onProvider(widgets.type, "one"));
  assert.deepEqual(
    konnector.writes.filter((write) => write.includes("widgets")),
    ["provider delete widgets"],
  );
});

test("binding again takes its own CRD over; a foreign one is left alone", async () => {
  const ref = { namespace: consumerNamespace, name: widgets.name };
  const crd = { name: widgets.name };
  // An older agent put no finalizer on its bindings: they just disappeared.
  await consumer.client.mergePatch(apiServiceBindings, ref, { metadata: { finalizers: null } });
  await consumer.client.delete(apiServiceBindings, ref);
  await waitFor("the binding to be gone", async () => !(await consumer.client.find(apiServiceBindings, ref)));
  await bindApi(fixture, widgets.name, kubeconfig);
  await untilReady(widgets.name);
  const { uid } = (await binding(widgets.name))?.metadata ?? {};
  const owned = await consumer.client.get<DynamicObject>(customResourceDefinitions, crd);
  assert.deepEqual(
    owned.metadata.ownerReferences?.map((owner) => [owner.kind, owner.uid, owner.controller]),
    [["APIServiceBinding", uid, true]],
  );
  const foreign = testApi("foreigns", "Foreign");
  await installCrd(provider, foreign.crd);
  await installCrd(consumer, foreign.crd);
  await exportCrd(provider, foreign.crd);
  await bindApi(fixture, foreign.name, kubeconfig);
  await waitFor("the refusal", async () => {
    const connected = findCondition(conditionsOf(await binding(foreign.name)), "Connected");
    return connected?.reason === "ForeignCustomResourceDefinition";
  });
});

test("a kubeconfig that would run a program is refused with the field, and an address without an answer is told", async () => {
  const put = async (name: string, text: string): Promise<void> => {
    await consumer.client.create(secrets, secretObject(consumerNamespace, name, { kubeconfig: text }));
    await consumer.client.create<KubeObject>(apiServiceBindings, {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceBinding",
      metadata: { namespace: consumerNamespace, name },
      spec: { kubeconfigSecretRef: { namespace: consumerNamespace, name, key: "kubeconfig" } },
    });
  };
  await put("evil", kubeconfig.replace(/token: .*/, "exec: {command: /bin/sh}"));
  const refused = await waitFor("the refusal", async () => {
    const found = findCondition(conditionsOf(await binding("evil")), "SecretValid");
    return found?.status === "False" ? found : undefined;
  });
  assert.equal(refused.reason, "KubeconfigSecretInvalid");
  assert.match(refused.message ?? "", /exec is refused: it would run a program/);
  await put("away", kubeconfig.replace(provider.url, "https://127.0.0.1:1"));
  const unreachable = await waitFor("the report", async () => {
    const found = findCondition(conditionsOf(await binding("away")), "InformersSynced");
    return found?.reason === "InformerSyncTimeout" ? found : undefined;
  });
  assert.match(unreachable.message ?? "", /https:\/\/127\.0\.0\.1:1 cannot be used/);
});

test("as a process it stands by behind the leader, is ready, and stops in order on SIGTERM", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-konnector-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "kubeconfig");
  await writeFile(path, consumer.kubeconfig);
  await using reserved = await reservePorts(1);
  const [port] = reserved.ports;
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const flags = [`--kubeconfig=${path}`, `--lease-namespace=${consumerNamespace}`, `--probe-port=${port}`];
  const child = spawn(process.execPath, [main, "--probe-host=127.0.0.1", ...flags], { stdio: "ignore" });
  t.after(() => child.kill("SIGKILL"));
  await waitFor("readiness", async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  assert.match(metrics, /^leader_election_master_status\{name="klutch-bind"\} 0$/m);
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  assert.deepEqual(await exited, [0, null]);
});
