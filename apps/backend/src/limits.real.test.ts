import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceNamespaces,
  type ClusterBinding,
  clusterBindings,
  identityAnnotation,
} from "@klutch/api";
import { namespaces } from "@klutch/kube-core";
import { leaseCluster, waitFor } from "@klutch/kube-testing";
import { UserError } from "./errors.ts";
import { ensureTenant } from "./provisioning/tenant.ts";
import { installProvider } from "./testing/provider.ts";
import { startProvisioning } from "./testing/provisioning.ts";
import { startBackend } from "./testing/start-backend.ts";
import {
  askForNamespace,
  conditionText,
  createTenant,
  exportRequest,
  serviceNamespaceOf,
} from "./testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "limits" }));
const { client } = cluster;
await installProvider(client);
await waitFor("the kinds", async () => (await client.list(apiServiceNamespaces)) !== undefined);

const flags = ["--control-plane-mode", "--max-namespaces-per-cluster=2", "--max-requests-per-cluster=2"];
await startBackend(stack, cluster, { flags });
const namespace = "tenant";
await createTenant(client, namespace);

test("an app cluster maps as many namespaces as allowed; the next one waits, and that is told until there is room", async () => {
  const mapped = (name: string): Promise<string | undefined> =>
    serviceNamespaceOf(client, { namespace, name });
  const limit = async (): Promise<string> => {
    const { status } = await client.get<ClusterBinding>(clusterBindings, { namespace, name: "cluster" });
    return conditionText(status?.conditions, "WithinLimits");
  };
  for (const name of ["one", "two", "three"]) {
    await askForNamespace(client, { namespace, name });
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
  for (const name of ["a", "b", "c"]) {
    await client.create(apiServiceExportRequests, exportRequest({ namespace, name }, "databases"));
  }
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
  const { tenant, signal } = await startProvisioning(stack, cluster);
  const bind = async (subject: string, clusterId: string, limits: object): Promise<string> => {
    const few = { clusters: 100, clustersPerUser: 2, namespacesPerCluster: 1, requestsPerCluster: 1 };
    const context = { ...tenant, limits: { ...few, ...limits } };
    const identity = { issuer: "https://idp.example.org", subject, clusterId };
    const name = await ensureTenant(context, identity, { signal });
    await waitFor("the cache", () => tenant.namespaceCache.get(name));
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
  // A bound API can be bound again at any time.
  assert.equal(await bind("one", "a", { clusters: 1 }), first);
  await bind("two", "c", {});
  await assert.rejects(bind("three", "d", { clusters: 3 }), refused(503, /limit of 3 .*--max-clusters\./));
  const made = (await client.list(namespaces)).items.filter(
    ({ metadata }) => metadata.annotations?.[identityAnnotation] !== undefined,
  );
  assert.equal(made.length, 3);
});
