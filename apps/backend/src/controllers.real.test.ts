import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceExport,
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  apiServiceExportTemplates,
  apiServiceNamespaces,
  type ClusterBinding,
  clusterBindings,
  decodeBindingResponse,
} from "@klutch/api";
import {
  clusterRoleBindings,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  isRecord,
  type KubeObject,
  namespaces,
  secrets,
} from "@klutch/kube-core";
import {
  createKubeClient,
  isForbidden,
  type KubeClient,
  parseForeignKubeconfig,
  systemClock,
} from "@klutch/kube";
import { crdObject, startCluster, waitFor } from "@klutch/kube-testing";
import { createMetrics, Secret, silentLogger } from "@klutch/telemetry";
import type { Clock } from "@klutch/kube";
import { createBackend } from "./backend.ts";
import { readConfig } from "./config.ts";
import { defaultLimits } from "./limits.ts";
import type { Session } from "./login/login-flow.ts";
import { createBind } from "./provisioning/bind.ts";
import { createCredentialIssuer } from "./provisioning/credentials.ts";
import { clusterNamespaceName } from "./provisioning/tenant.ts";
import { confinedClient } from "./testing/confined.ts";
import { backendParts } from "./testing/parts.ts";
import { databases, installProvider, ownClaim, templateObject } from "./testing/provider.ts";
import { runBackend } from "./testing/run-backend.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await startCluster({ name: "backend", controllerManager: true }));
const { client, config: admin } = cluster;
const confined = stack.use(await confinedClient(cluster));

const crd = (properties: Readonly<Record<string, unknown>>): DynamicObject =>
  crdObject(databases, { properties });
const spec = (fields: object): Readonly<Record<string, unknown>> => ({
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

const { backend, bind, signal } = await startBackend();
const running = runBackend(backend, signal.signal);
// The last one registered is the first one done: abort, then wait.
stack.defer(() => running);
stack.defer(() => signal.abort(new Error("the tests are over")));
await waitFor("the caches", () => !(backend.problem() ?? "").includes("cache"));

async function startBackend() {
  const key = Buffer.alloc(32, 3).toString("base64");
  const config = await readConfig(
    [
      "--oidc-issuer-url=http://127.0.0.1:1",
      "--oidc-issuer-client-id=x",
      "--oidc-issuer-client-secret=x",
      "--oidc-callback-url=http://127.0.0.1:1/callback",
      `--cookie-signing-key=${key}`,
      "--pretty-name=Tests",
    ],
    {},
  );
  const abort = new AbortController();
  const common = {
    config,
    cluster: admin,
    client: confined,
    logger: silentLogger,
    clock,
    signal: abort.signal,
  };
  const parts = await backendParts(client, abort.signal, stack);
  const external = { server: admin.server, ca: admin.ca, tlsServerName: undefined };
  return {
    signal: abort,
    backend: createBackend({ ...common, controllerClient: confined, metrics: createMetrics() }),
    bind: createBind({
      exportTemplates: parts.exportTemplates,
      tenant: {
        client: confined,
        namespaceCache: parts.namespaces,
        prefix: "cluster",
        prettyName: "Tests",
        limits: defaultLimits,
        clock,
      },
      credentials: createCredentialIssuer({ client: confined, external, lifetimeSeconds: 3600, clock }),
      signal: abort.signal,
    }),
  };
}

const session = (subject: string): Session => ({
  issuer: "https://idp.example.org",
  subject,
  clusterId: "abc123",
  sessionId: "s",
  redirectUrl: "http://localhost:1/callback",
  csrf: "",
});
const api = { resource: "databases", group: "example.org" };

/** Binds and gives back a client with exactly the credentials that were handed out. */
async function bound(subject: string): Promise<{ readonly tenant: KubeClient; readonly namespace: string }> {
  const response = decodeBindingResponse(await bind(session(subject), api));
  const foreign = parseForeignKubeconfig(Buffer.from(response.kubeconfig, "base64").toString());
  return { tenant: stack.use(createKubeClient(foreign)), namespace: foreign.namespace ?? "" };
}

const request = (namespace: string, resource: string): APIServiceExportRequest => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceExportRequest",
  metadata: { namespace, name: resource },
  spec: { resources: [{ group: "example.org", resource }] },
});
const phase = async (namespace: string, name: string): Promise<string | undefined> =>
  (await client.get<APIServiceExportRequest>(apiServiceExportRequests, { namespace, name })).status?.phase;

test("logins at the same time make one place for one identity, and another for another", async () => {
  const results = await Promise.all([bound("one"), bound("one"), bound("one"), bound("two")]);
  assert.equal(new Set(results.map(({ namespace }) => namespace)).size, 2);
  assert.equal(results[0]?.namespace, clusterNamespaceName("cluster", session("one")));
});

test("an API that is not offered makes nothing at all", async () => {
  const before = (await client.list(namespaces)).items.length;
  await assert.rejects(
    bind(session("three"), { resource: "unknowns", group: "example.org" }),
    /is not offered here/,
  );
  assert.equal((await client.list(namespaces)).items.length, before);
});

test("a request becomes an export, whose schema follows the CRD", async () => {
  const { tenant, namespace } = await bound("one");
  await waitFor("the right to ask", () =>
    tenant.create(apiServiceExportRequests, request(namespace, "databases")),
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
  await client.create(apiServiceExportRequests, request(namespace, "unknowns"));
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

const mapping = (namespace: string, name: string): DynamicObject => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceNamespace",
  metadata: { namespace, name },
  spec: {},
});

async function mapped(tenant: KubeClient, namespace: string, name: string): Promise<string> {
  await tenant.create(apiServiceNamespaces, mapping(namespace, name));
  return waitFor(`the service namespace of ${name}`, async () => {
    const { status } = await tenant.get<DynamicObject>(apiServiceNamespaces, { namespace, name });
    return isRecord(status) && typeof status["namespace"] === "string" ? status["namespace"] : undefined;
  });
}

test("a tenant reaches its kinds in its own service namespaces and nothing anywhere else", async () => {
  const { tenant, namespace } = await bound("one");
  const service = await mapped(tenant, namespace, "team");
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

test("a long name is mapped, a namespace of somebody else never", async () => {
  const { tenant, namespace } = await bound("one");
  const long = await mapped(tenant, namespace, "n".repeat(63));
  assert.ok(long.length <= 63 && long.startsWith(`${namespace}-nnn`), long);
  const taken = `${namespace}-victim`;
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: taken } });
  await tenant.create(apiServiceNamespaces, mapping(namespace, "victim"));
  await mapped(tenant, namespace, "after-victim");
  const { status } = await client.get<DynamicObject>(apiServiceNamespaces, { namespace, name: "victim" });
  assert.equal(isRecord(status) ? status["namespace"] : undefined, undefined);
  await client.delete(apiServiceNamespaces, { namespace, name: "victim" });
  await client.delete(apiServiceNamespaces, { namespace, name: "after-victim" });
  await waitFor(
    "our own namespace to go",
    async () => (await client.find(namespaces, { name: `${namespace}-after-victim` })) === undefined,
  );
  assert.ok(await client.find(namespaces, { name: taken }), "a namespace that was never ours was deleted");
});

test("a fresh heartbeat is healthy; silence for two intervals is not", async () => {
  const { namespace } = await bound("two");
  const ref = { namespace, name: "cluster" };
  const healthy = async (): Promise<string> => {
    const { status } = await client.get<ClusterBinding>(clusterBindings, ref);
    const { status: value, reason = "" } = findCondition(status?.conditions, "Healthy") ?? {};
    return `${value} ${reason}`;
  };
  await waitFor("the first verdict", async () => (await healthy()) === "False FirstHeartbeatPending");
  const beat = {
    lastHeartbeatTime: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
    heartbeatInterval: "5m0s",
  };
  await client.mergePatch(clusterBindings, ref, { status: beat }, { subresource: "status" });
  await waitFor("Healthy", async () => (await healthy()) === "True ");
  shift.ms = 601_000;
  try {
    await client.mergePatch(clusterBindings, ref, { metadata: { annotations: { touched: "again" } } });
    await waitFor("the silence to show", async () => (await healthy()) === "False HeartbeatTimeout");
  } finally {
    shift.ms = 0;
  }
});

test("credentials are short-lived and renewed before half of their life is over", async () => {
  const { namespace } = await bound("two");
  const external = { server: admin.server, ca: admin.ca, tlsServerName: undefined };
  const issuer = createCredentialIssuer({ client: confined, external, lifetimeSeconds: 86_400, clock });
  const options = { signal: new AbortController().signal };
  const first = await issuer.ensure(namespace, options);
  assert.equal((await issuer.ensure(namespace, options)).kubeconfig, first.kubeconfig);
  shift.ms = 43_300_000;
  try {
    assert.notEqual((await issuer.ensure(namespace, options)).kubeconfig, first.kubeconfig);
  } finally {
    shift.ms = 0;
  }
  assert.ok(!String(new Secret(first.kubeconfig)).includes("token"));
});
