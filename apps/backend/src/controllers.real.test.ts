import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceExport,
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  apiServiceExportTemplates,
  apiServiceNamespaces,
  binderName,
  type ClusterBinding,
  clusterBindings,
  controlPlaneIdOf,
  type KonnectorRollout,
  konnectorRollouts,
  tenants,
  wantedKonnectorLabel,
} from "@klutch/api";
import {
  clusterRoleBindings,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  isTrue,
  type KubeObject,
  namespaces,
  type ObjectRef,
  secrets,
  serviceAccounts,
  wholeSeconds,
} from "@klutch/kube-core";
import {
  type Clock,
  createKubeClient,
  isForbidden,
  type KubeClient,
  parseForeignKubeconfig,
  systemClock,
} from "@klutch/kube";
import { crdObject, namespaceObject, leaseCluster, waitFor } from "@klutch/kube-testing";
import { Secret } from "@klutch/telemetry";
import { clusterNamespaceName } from "./provisioning/tenant.ts";
import { confinedClient } from "./testing/confined.ts";
import { databases, installProvider, ownClaim, templateObject } from "./testing/provider.ts";
import { sessionOf, startProvisioning } from "./testing/provisioning.ts";
import { loginFlags, startBackend } from "./testing/start-backend.ts";
import { askForNamespace, exportRequest, mapNamespace, serviceNamespaceOf } from "./testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "backend", controllerManager: true }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));

const crd = (properties: Readonly<Record<string, object>>): DynamicObject =>
  crdObject(databases, { properties });
const spec = (fields: object): Readonly<Record<string, object>> => ({
  spec: { type: "object", properties: fields },
});
await installProvider(client, [crd(spec({ size: { type: "integer" } }))]);
const template = (resource: string): DynamicObject =>
  templateObject("example.org", resource, [ownClaim("secrets")]);
await waitFor("templates to be served", () =>
  client.create(apiServiceExportTemplates, template("databases")),
);
await client.create(apiServiceExportTemplates, template("unknowns"));

/** Moves the wall clock for time-outs, and nothing else. */
const shift = { ms: 0 };
const clock: Clock = { ...systemClock, now: () => systemClock.now() + shift.ms };

const url = "http://127.0.0.1:1";
const flags = [...loginFlags(url, Buffer.alloc(32, 3)), "--pretty-name=Tests"];
const { backend } = await startBackend(stack, cluster, { flags, client: confined, clock });
const { bind, bindDatabases, issuer, signal } = await startProvisioning(stack, cluster, {
  client: confined,
  clock,
});

/** Binds and gives back a client with exactly the credentials that were handed out. */
async function bound(subject: string): Promise<{ readonly tenant: KubeClient; readonly namespace: string }> {
  const foreign = parseForeignKubeconfig(await bindDatabases(subject));
  return { tenant: stack.use(createKubeClient(foreign)), namespace: foreign.namespace ?? "" };
}

const phase = async (namespace: string, name: string): Promise<string | undefined> =>
  (await client.get<APIServiceExportRequest>(apiServiceExportRequests, { namespace, name })).status?.phase;

test("logins at the same time make one place for one identity, and another for another", async () => {
  const results = await Promise.all([bound("one"), bound("one"), bound("one"), bound("two")]);
  assert.equal(new Set(results.map(({ namespace }) => namespace)).size, 2);
  assert.equal(results[0]?.namespace, clusterNamespaceName("cluster", sessionOf("one")));
});

test("/export names the control plane by a hash, so that its own kubeconfig is recognized, and not by its UID", async () => {
  const { uid = "" } = (await client.get(namespaces, { name: "kube-system" })).metadata;
  const answer = await (await backend.app.request("/export", { headers: { host: "localhost" } })).text();
  assert.ok(answer.includes(`"controlPlaneId":"${controlPlaneIdOf(uid)}"`), answer);
  assert.ok(!answer.includes(uid));
});

test("an API that is not offered makes nothing at all", async () => {
  const before = (await client.list(namespaces)).items.length;
  await assert.rejects(
    bind(sessionOf("three"), [{ resource: "unknowns", group: "example.org" }]),
    /is not offered here/,
  );
  assert.equal((await client.list(namespaces)).items.length, before);
});

test("a request becomes an export, whose schema follows the CRD", async () => {
  const { tenant, namespace } = await bound("one");
  await waitFor("the right to ask", () =>
    tenant.create(apiServiceExportRequests, exportRequest({ namespace, name: "databases" }, "databases")),
  );
  await waitFor("the request to succeed", async () => (await phase(namespace, "databases")) === "Succeeded");
  const ref = { namespace, name: "databases.example.org" };
  const exported = (): Promise<APIServiceExport> => tenant.get<APIServiceExport>(apiServiceExports, ref);
  assert.equal((await exported()).spec.permissionClaims?.[0]?.resource, "secrets");
  const { metadata } = await client.get(customResourceDefinitions, { name: "databases.example.org" });
  const changed = crd(spec({ size: { type: "integer" }, colour: { type: "string" } }));
  await client.replace(customResourceDefinitions, {
    ...changed,
    metadata: { ...changed.metadata, resourceVersion: metadata.resourceVersion },
  });
  await waitFor("the new field", async () =>
    JSON.stringify((await exported()).spec.versions).includes("colour"),
  );
  await waitFor(
    "ProviderInSync",
    async () => findCondition((await exported()).status?.conditions, "ProviderInSync")?.status === "True",
  );
});

test("a template for an unknown CRD leaves the request Pending with the reason, then Failed, without any event", async () => {
  const { namespace } = await bound("one");
  await client.create(apiServiceExportRequests, exportRequest({ namespace, name: "unknowns" }, "unknowns"));
  const read = (): Promise<APIServiceExportRequest> =>
    client.get(apiServiceExportRequests, { namespace, name: "unknowns" });
  await waitFor("the reason", async () => {
    const condition = findCondition((await read()).status?.conditions, "ExportsReady");
    return (
      condition?.reason === "CRDNotFound" &&
      /unknowns\.example\.org does not exist/.test(condition.message ?? "")
    );
  });
  assert.equal(await phase(namespace, "unknowns"), "Pending");
  shift.ms = 61_000;
  try {
    await waitFor("the request to fail", async () => (await read()).status?.phase === "Failed");
    assert.match((await read()).status?.terminalMessage ?? "", /unknowns\.example\.org/);
  } finally {
    shift.ms = 0;
  }
});

test("a tenant reaches its kinds in its own service namespaces and nothing anywhere else", async () => {
  const { tenant, namespace } = await bound("one");
  const service = await mapNamespace(tenant, { namespace, name: "team" });
  const database = {
    apiVersion: "example.org/v1",
    kind: "Database",
    metadata: { namespace: service, name: "d" },
  };
  await waitFor("the rights in the service namespace", () => tenant.create<KubeObject>(databases, database));
  await tenant.list(secrets, { namespace: service });
  for (const forbidden of ["kube-system", "default", (await bound("two")).namespace]) {
    await assert.rejects(tenant.list(secrets, { namespace: forbidden }), isForbidden);
    await assert.rejects(tenant.list(databases, { namespace: forbidden }), isForbidden);
  }
  await assert.rejects(tenant.list(secrets), isForbidden);
  assert.equal(await client.find(clusterRoleBindings, { name: `klutch-binder-${namespace}` }), undefined);
});

test("a long name is mapped, a foreign namespace never", async () => {
  const { tenant, namespace } = await bound("one");
  const long = await mapNamespace(tenant, { namespace, name: "n".repeat(63) });
  assert.ok(long.length <= 63 && long.startsWith(`${namespace}-nnn`), long);
  const taken = `${namespace}-victim`;
  await client.create(namespaces, namespaceObject(taken));
  await askForNamespace(tenant, { namespace, name: "victim" });
  await mapNamespace(tenant, { namespace, name: "after-victim" });
  assert.equal(await serviceNamespaceOf(client, { namespace, name: "victim" }), undefined);
  await client.delete(apiServiceNamespaces, { namespace, name: "victim" });
  await client.delete(apiServiceNamespaces, { namespace, name: "after-victim" });
  await waitFor(
    "our own namespace to go",
    async () => (await client.find(namespaces, { name: `${namespace}-after-victim` })) === undefined,
  );
  assert.ok(await client.find(namespaces, { name: taken }), "a namespace that was never ours was deleted");
});

async function healthOf(namespace: string): Promise<string> {
  const ref = { namespace, name: "cluster" };
  const { status } = await client.get<ClusterBinding>(clusterBindings, ref);
  const { status: value, reason = "" } = findCondition(status?.conditions, "Healthy") ?? {};
  return `${value} ${reason}`;
}

async function beat(namespace: string, heartbeatInterval: string): Promise<void> {
  const status = { lastHeartbeatTime: wholeSeconds(clock.now()), heartbeatInterval };
  const ref = { namespace, name: "cluster" };
  await client.mergePatch(clusterBindings, ref, { status }, { subresource: "status" });
}

/** Lets time pass, and has the binding looked at again, as its time-out would. */
async function untilHealth(namespace: string, afterMs: number, health: string): Promise<void> {
  shift.ms = afterMs;
  const annotations = { touched: String(afterMs) };
  await client.mergePatch(clusterBindings, { namespace, name: "cluster" }, { metadata: { annotations } });
  await waitFor(`${health} after ${afterMs} ms`, async () => (await healthOf(namespace)) === health);
}

for (const [interval, timeoutMs] of [
  ["55s", 110_000],
  ["5m0s", 600_000],
] as const) {
  test(`a fresh heartbeat is healthy; silence for two intervals of ${interval} is not, and the next heartbeat is`, async () => {
    const { namespace } = await bound(`of ${interval}`);
    await waitFor(
      "the first verdict",
      async () => (await healthOf(namespace)) === "False FirstHeartbeatPending",
    );
    try {
      await beat(namespace, interval);
      await waitFor("Healthy", async () => (await healthOf(namespace)) === "True ");
      await untilHealth(namespace, timeoutMs - 20_000, "True ");
      await untilHealth(namespace, timeoutMs + 20_000, "False HeartbeatTimeout");
      await beat(namespace, interval);
      await waitFor("Healthy again", async () => (await healthOf(namespace)) === "True ");
    } finally {
      shift.ms = 0;
    }
  });
}

test("the silence of a konnector whose account is gone is a revocation, not an outage", async () => {
  const { namespace } = await bound("revoked");
  try {
    await beat(namespace, "55s");
    await waitFor("Healthy", async () => (await healthOf(namespace)) === "True ");
    await client.delete(serviceAccounts, { namespace, name: binderName });
    await untilHealth(namespace, 130_000, "False AccountMissing");
  } finally {
    shift.ms = 0;
  }
});

test("credentials are short-lived and renewed before half of their life is over", async () => {
  const { namespace } = await bound("two");
  const daily = issuer(86_400);
  const options = { signal };
  // The backend that runs beside renews the credential of an hour, too, and may be between reading and writing.
  const first = await waitFor("two times the same credential", async () => {
    const one = await daily.ensure(namespace, options);
    return (await daily.ensure(namespace, options)).kubeconfig === one.kubeconfig && one;
  });
  shift.ms = 43_300_000;
  try {
    assert.notEqual((await daily.ensure(namespace, options)).kubeconfig, first.kubeconfig);
  } finally {
    shift.ms = 0;
  }
  assert.ok(!String(new Secret(first.kubeconfig)).includes("token"));
});

test("a roll-out gives a version to tenants by their labels, which their accounts read and cannot write, and stops at the first fault", async () => {
  const fleet = await Promise.all(["wave-a", "wave-b", "wave-c"].map(bound));
  const [first, second, other] = fleet.toSorted((one, two) => (one.namespace < two.namespace ? -1 : 1));
  assert.ok(first && second && other);
  const [version, before] = ["v1.6.1", "v1.6.0"];
  const refOfBinding = (namespace: string): ObjectRef => ({ namespace, name: "cluster" });
  const read = (namespace: string): Promise<ClusterBinding> =>
    client.get<ClusterBinding>(clusterBindings, refOfBinding(namespace));
  const status = { subresource: "status" };
  // Konnectors without Pods: what they say in their heartbeats is the fact that the backend sees.
  const say = (
    one: { readonly tenant: KubeClient; readonly namespace: string },
    said: object,
  ): Promise<unknown> => {
    const beat = { lastHeartbeatTime: wholeSeconds(clock.now()), heartbeatInterval: "24h0m0s" };
    return one.tenant.mergePatch(
      clusterBindings,
      refOfBinding(one.namespace),
      { status: { ...beat, ...said } },
      status,
    );
  };
  for (const one of fleet) {
    const { namespace } = one;
    const ref = { namespace, name: "tenant" };
    await waitFor(`the Tenant of ${namespace}`, () => client.find(tenants, ref));
    const labels = one === other ? {} : { "example.org/channel": "canary" };
    await client.mergePatch(tenants, ref, { metadata: { labels } });
    await say(one, { konnectorVersion: before, konnectorUpdates: { line: "patch", floor: before } });
    await waitFor(`${namespace} to be healthy`, async () =>
      isTrue((await read(namespace)).status?.conditions, "Healthy"),
    );
  }
  shift.ms += 600_000;
  await client.create(konnectorRollouts, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "KonnectorRollout",
    metadata: { name: "canary" },
    spec: {
      version,
      tenantLabels: { "example.org/channel": "canary" },
      waves: [{ size: 1, pauseSeconds: 0 }],
    },
  });
  const wanted = async ({ namespace }: { readonly namespace: string }): Promise<string | undefined> =>
    (await read(namespace)).metadata.annotations?.[wantedKonnectorLabel];
  const rollout = (): Promise<KonnectorRollout> =>
    client.get<KonnectorRollout>(konnectorRollouts, { name: "canary" });
  const slow = { timeoutMs: 40_000 };
  await waitFor("the first wave", async () => (await wanted(first)) === version, slow);
  assert.equal(await wanted(second), undefined);
  const lie = { metadata: { annotations: { [wantedKonnectorLabel]: "v1.6.9" } } };
  const own = refOfBinding(first.namespace);
  await assert.rejects(first.tenant.mergePatch(clusterBindings, own, lie), isForbidden);
  await first.tenant.mergePatch(clusterBindings, own, lie, status);
  assert.equal(await wanted(first), version);
  await assert.rejects(first.tenant.list(konnectorRollouts), isForbidden);
  await say(first, { konnectorVersion: version });
  await waitFor("the second wave", async () => (await wanted(second)) === version, slow);
  const lastTransitionTime = wholeSeconds(clock.now());
  const broken = { type: "ValidVersion", status: "False", severity: "Error", lastTransitionTime };
  await say(second, { konnectorVersion: version, conditions: [broken] });
  await waitFor("the way back", async () => (await wanted(second)) === before, slow);
  const { phase: state, stop } = (await rollout()).status ?? {};
  assert.equal(state, "Stopped");
  assert.match(
    stop?.message ?? "",
    /^wave 2 with v1\.6\.1 was stopped: \S+ has (more problems|no heartbeat)/,
  );
  assert.deepEqual([await wanted(first), await wanted(other)], [version, undefined]);
});
