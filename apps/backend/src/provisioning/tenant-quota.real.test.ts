/** Bounds for the objects of a tenant's account, on a real API server and with the backend's own account. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceNamespaces,
  binderName,
  type ClusterBinding,
  clusterBindings,
  tenantQuotaName,
} from "@klutch/api";
import { isForbidden } from "@klutch/kube";
import { type DynamicObject, isRecord, resourceQuotas } from "@klutch/kube-core";
import { leaseCluster, unlimitedClient, waitFor } from "@klutch/kube-testing";
import { confinedClient } from "../testing/confined.ts";
import { installProvider } from "../testing/provider.ts";
import { startBackend } from "../testing/start-backend.ts";
import { askForNamespace, createTenant } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "tenant-quota" }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));
await installProvider(client);
await waitFor("the kinds", async () => (await client.list(apiServiceNamespaces)) !== undefined);
const flags = ["--control-plane-mode", "--max-namespaces-per-cluster=2"];
await startBackend(stack, cluster, { flags, client: confined });
const namespace = "tenant";
await createTenant(client, namespace, "jane#abc123");
const readQuota = (): Promise<DynamicObject | undefined> =>
  client.find<DynamicObject>(resourceQuotas, { namespace, name: tenantQuotaName });

test("a tenant keeps twice as many mappings as are served and one more; the API server refuses further ones", async () => {
  const counted = "count/apiservicenamespaces.klutch.anynines.com";
  const quota = await waitFor("the quota", readQuota);
  const spec = isRecord(quota["spec"]) ? quota["spec"] : {};
  const hard = isRecord(spec["hard"]) ? spec["hard"] : {};
  assert.equal(hard[counted], "5");
  // Plays the first count of kube-controller-manager. From then on the API server counts itself.
  const used = Object.fromEntries(Object.keys(hard).map((name) => [name, "0"]));
  const ref = { namespace, name: tenantQuotaName };
  await client.mergePatch(resourceQuotas, ref, { status: { hard, used } }, { subresource: "status" });
  const tenant = stack.use(unlimitedClient(cluster, { namespace, name: binderName }));
  for (let index = 0; index < 5; index++) await askForNamespace(client, { namespace, name: `n-${index}` });
  await assert.rejects(
    askForNamespace(tenant, { namespace, name: "n-5" }),
    (error: unknown) => isForbidden(error) && /exceeded quota: klutch-tenant/.test(error.message),
  );
});

test("an endless status of a tenant is cut, and the quota is not written again meanwhile", async () => {
  const ref = { namespace, name: "cluster" };
  const quota = await readQuota();
  const long = "x".repeat(100_000);
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const conditions = Array.from({ length: 10 }, (_, index) => {
    return { type: `T${index}`, status: "False", reason: "R", message: long, lastTransitionTime };
  });
  const status = { conditions, konnectorVersion: long };
  await client.mergePatch(clusterBindings, ref, { status }, { subresource: "status" });
  const read = (): Promise<ClusterBinding> => client.get<ClusterBinding>(clusterBindings, ref);
  await waitFor("the status to be cut", async () => JSON.stringify(await read()).length < 50_000);
  assert.equal((await read()).status?.konnectorVersion, undefined);
  // The reconcile that cut it looked at the quota before.
  assert.equal((await readQuota())?.metadata.resourceVersion, quota?.metadata.resourceVersion);
});
