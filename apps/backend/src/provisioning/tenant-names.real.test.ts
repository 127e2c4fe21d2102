/** Names of tenants on a real API server: operators see who is who, and a name opens nothing. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceExportRequests,
  boundByAnnotation,
  type ClusterBinding,
  clusterBindingName,
  clusterBindings,
  clusterNameAnnotation,
  decodeBindingResponse,
} from "@klutch/api";
import { createKubeClient, isForbidden, parseForeignKubeconfig } from "@klutch/kube";
import { crdObject, leaseCluster, startKubectl, waitFor } from "@klutch/kube-testing";
import { confinedClient } from "../testing/confined.ts";
import { databases, installProvider, offerDatabases } from "../testing/provider.ts";
import { sessionOf, startProvisioning } from "../testing/provisioning.ts";
import { loginFlags, startBackend } from "../testing/start-backend.ts";
import { exportRequest } from "../testing/tenants.ts";
import type { BindSession } from "./bind.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "tenant-names", controllerManager: true }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));
await installProvider(client, [crdObject(databases)]);
await offerDatabases(client);
const flags = loginFlags("https://backend.example.org", Buffer.alloc(32, 5));
await startBackend(stack, cluster, { flags, client: confined });
const kubectl = await startKubectl(stack, cluster);
const { bind, exportTemplates } = await startProvisioning(stack, cluster, { client: confined });
await waitFor("the offer", () => exportTemplates.find("example.org", "databases"));

/** Binds; gives back the tenant and the kubeconfig that was handed out. */
async function bindAs(
  subject: string,
  names: Pick<BindSession, "clusterName" | "displayName">,
  clusterId = "abc123",
): Promise<{ readonly namespace: string; readonly kubeconfig: string }> {
  const session = { ...sessionOf(subject), clusterId, ...names };
  const answer = await bind(session, [{ resource: "databases", group: "example.org" }]);
  const kubeconfig = Buffer.from(decodeBindingResponse(answer).kubeconfig, "base64").toString();
  return { namespace: parseForeignKubeconfig(kubeconfig).namespace ?? "", kubeconfig };
}

const bindingOf = (namespace: string): Promise<ClusterBinding> =>
  client.get<ClusterBinding>(clusterBindings, { namespace, name: clusterBindingName });
const namesOf = async (namespace: string): Promise<readonly (string | undefined)[]> => {
  const { annotations } = (await bindingOf(namespace)).metadata;
  return [annotations?.[clusterNameAnnotation], annotations?.[boundByAnnotation]];
};

test("kubectl get clusterbindings says whose a tenant is, which cluster it is, and how many APIs it uses", async () => {
  const { namespace } = await bindAs("jane", { clusterName: "prod-eu", displayName: "jane@example.org" });
  await client.create(
    apiServiceExportRequests,
    exportRequest({ namespace, name: "databases" }, "databases", []),
  );
  const row = /prod-eu +jane@example\.org +1 /;
  const table = await waitFor("the row", async () => {
    const text = await kubectl("get", "clusterbindings", "-A");
    return row.test(text) && text;
  });
  assert.match(table, /^NAMESPACE +NAME +CLUSTER +WHO +APIS +KONNECTOR VERSION +LAST HEARTBEAT +READY +AGE/);
  assert.ok(table.includes(namespace));
});

test("two people with one e-mail and two clusters with one name stay separate", async () => {
  const names = { clusterName: "same", displayName: "same@example.org" };
  const tenants = await Promise.all([
    bindAs("twin1", names),
    bindAs("twin2", names),
    bindAs("twin1", names, "other1"),
  ]);
  assert.equal(new Set(tenants.map(({ namespace }) => namespace)).size, 3);
});

test("a second bind renames, and one of an existing plugin, which sends no name, keeps the known names", async () => {
  const { namespace } = await bindAs("kim", { clusterName: "first", displayName: "kim@example.org" });
  await bindAs("kim", { clusterName: "second", displayName: "kim@example.com" });
  assert.deepEqual(await namesOf(namespace), ["second", "kim@example.com"]);
  await bindAs("kim", {});
  assert.deepEqual(await namesOf(namespace), ["second", "kim@example.com"]);
});

test("a tenant that an existing plugin made has no name, and gets one with the first plugin that sends it", async () => {
  const { namespace } = await bindAs("lee", {});
  assert.deepEqual(await namesOf(namespace), [undefined, undefined]);
  await bindAs("lee", { clusterName: "late", displayName: undefined });
  assert.deepEqual(await namesOf(namespace), ["late", undefined]);
});

test("a tenant cannot rename itself with the credential that it got", async () => {
  const { namespace, kubeconfig } = await bindAs("mia", { clusterName: "mine", displayName: "mia@x.org" });
  const own = stack.use(createKubeClient(parseForeignKubeconfig(kubeconfig)));
  const ref = { namespace, name: clusterBindingName };
  const metadata = { annotations: { [clusterNameAnnotation]: "yours", [boundByAnnotation]: "boss@x.org" } };
  await assert.rejects(own.mergePatch(clusterBindings, ref, { metadata }), isForbidden);
  const beat = { lastHeartbeatTime: "2026-01-01T00:00:00Z", heartbeatInterval: "5m0s" };
  const status = { ...beat, boundAPIs: 99 };
  await own.mergePatch(clusterBindings, ref, { metadata, status }, { subresource: "status" });
  assert.deepEqual(await namesOf(namespace), ["mine", "mia@x.org"]);
  await waitFor("the right number", async () => (await bindingOf(namespace)).status?.boundAPIs === 0);
});
