import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceNamespaces,
  binderName,
  type ClusterBinding,
  clusterBindings,
  identityAnnotation,
} from "@klutch/api";
import {
  type DynamicObject,
  findCondition,
  isRecord,
  type KubeObject,
  namespaces,
  serviceAccounts,
} from "@klutch/kube-core";
import { systemClock } from "@klutch/kube";
import { startCluster, waitFor } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { createBackend } from "./backend.ts";
import { readConfig } from "./config.ts";
import { UserError } from "./errors.ts";
import { ensureTenant } from "./provisioning/tenant.ts";
import { backendParts } from "./testing/parts.ts";
import { installProvider } from "./testing/provider.ts";
import { runBackend } from "./testing/run-backend.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await startCluster({ name: "limits" }));
const { client } = cluster;
await installProvider(client);
await waitFor("the kinds", async () => (await client.list(apiServiceNamespaces)) !== undefined);

const abort = new AbortController();
const { signal } = abort;
const flags = ["--control-plane-mode", "--max-namespaces-per-cluster=2", "--max-requests-per-cluster=2"];
const backend = createBackend({
  config: await readConfig(flags, {}),
  cluster: cluster.config,
  client,
  controllerClient: client,
  logger: silentLogger,
  metrics: createMetrics(),
  clock: systemClock,
  signal,
});
const running = runBackend(backend, signal);
stack.defer(() => running);
stack.defer(() => abort.abort(new Error("the tests are over")));

const namespace = "tenant";
const apiVersion = "klutch.anynines.com/v1alpha1";
await client.create<KubeObject>(namespaces, {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: namespace },
});
await client.create(serviceAccounts, {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { namespace, name: binderName },
});
await client.create<KubeObject>(clusterBindings, {
  apiVersion,
  kind: "ClusterBinding",
  metadata: { namespace, name: "cluster" },
  spec: { kubeconfigSecretRef: { name: "kubeconfig", key: "kubeconfig" }, providerPrettyName: "Tests" },
});

test("an app cluster maps as many namespaces as allowed; the next one waits, and that is told until there is room", async () => {
  const mapped = async (name: string): Promise<string | undefined> => {
    const { status } = await client.get<DynamicObject>(apiServiceNamespaces, { namespace, name });
    return isRecord(status) && typeof status["namespace"] === "string" ? status["namespace"] : undefined;
  };
  const limit = async (): Promise<string> => {
    const { status } = await client.get<ClusterBinding>(clusterBindings, { namespace, name: "cluster" });
    const {
      status: value = "",
      reason = "",
      message = "",
    } = findCondition(status?.conditions, "WithinLimits") ?? {};
    return `${value} ${reason} ${message}`;
  };
  for (const name of ["one", "two", "three"]) {
    await client.create<KubeObject>(apiServiceNamespaces, {
      apiVersion,
      kind: "APIServiceNamespace",
      metadata: { namespace, name },
      spec: {},
    });
    if (name !== "three") await waitFor(`the mapping of ${name}`, () => mapped(name));
  }
  await waitFor("the condition", async () =>
    (await limit()).startsWith("False TooManyNamespaces 3 namespaces"),
  );
  assert.match(
    await limit(),
    /2 are allowed\. 1 are not synced, for example three\..*--max-namespaces-per-cluster/,
  );
  assert.equal(await mapped("three"), undefined);
  assert.equal(await client.find(namespaces, { name: `${namespace}-three` }), undefined);
  await client.delete(apiServiceNamespaces, { namespace, name: "one" });
  await waitFor("the mapping of three", () => mapped("three"));
});

test("one export request too many fails at once and says what to do", async () => {
  const ask = (name: string): Promise<APIServiceExportRequest> =>
    client.create<APIServiceExportRequest>(apiServiceExportRequests, {
      apiVersion,
      kind: "APIServiceExportRequest",
      metadata: { namespace, name },
      spec: { resources: [{ group: "example.org", resource: "databases" }] },
    });
  for (const name of ["a", "b", "c"]) await ask(name);
  const read = async (name: string): Promise<APIServiceExportRequest["status"]> =>
    (await client.get<APIServiceExportRequest>(apiServiceExportRequests, { namespace, name })).status;
  await waitFor("the refusal", async () => (await read("c"))?.phase === "Failed");
  assert.match(
    (await read("c"))?.terminalMessage ?? "",
    /3 APIServiceExportRequests.*2 are allowed.*--max-requests-per-cluster/,
  );
  assert.equal((await read("a"))?.phase ?? "Pending", "Pending");
});

test("a person binds as many app clusters as allowed, and the provider has as many as it allows", async () => {
  const { namespaces: namespaceCache } = await backendParts(client, signal, stack);
  const bind = async (subject: string, clusterId: string, limits: object): Promise<string> => {
    const all = {
      clusters: 100,
      clustersPerUser: 2,
      namespacesPerCluster: 1,
      requestsPerCluster: 1,
      ...limits,
    };
    const context = {
      client,
      namespaceCache,
      prefix: "cluster",
      prettyName: "Tests",
      limits: all,
      clock: systemClock,
    };
    const identity = { issuer: "https://idp.example.org", subject, clusterId };
    const name = await ensureTenant(context, identity, { signal });
    await waitFor("the cache", () => namespaceCache.get(name));
    return name;
  };
  const refused =
    (status: number, words: RegExp) =>
    (error: unknown): boolean => {
      assert.ok(error instanceof UserError, String(error));
      assert.equal(error.status, status);
      assert.match(`${error.message} ${error.advice}`, words);
      return true;
    };
  const first = await bind("one", "a", {});
  await bind("one", "b", {});
  await assert.rejects(bind("one", "c", {}), refused(429, /bound 2 app clusters.*--max-clusters-per-user/));
  // What is bound already is bound again at any time.
  assert.equal(await bind("one", "a", { clusters: 1 }), first);
  await bind("two", "c", {});
  await assert.rejects(bind("three", "d", { clusters: 3 }), refused(503, /\(3\).*--max-clusters/));
  const made = (await client.list(namespaces)).items.filter(
    ({ metadata }) => metadata.annotations?.[identityAnnotation] !== undefined,
  );
  assert.equal(made.length, 3);
});
