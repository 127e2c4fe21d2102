/** Tests that the deletion of Grants revokes, on a real API server and with the backend's own account under its admission policy. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceExport,
  apiServiceExportRequests,
  type APIServiceExportRequest,
  apiServiceExports,
  apiServiceExportTemplates,
  binderName,
  type ClusterBinding,
  clusterBindingName,
  clusterBindings,
  decodeBindingResponse,
  type Grant,
  grantFinalizer,
  grants,
  newClusterKey,
  publicKeyOf,
  revokedAnnotation,
} from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  serviceAccounts,
} from "@klutch/kube-core";
import { createKubeClient, isForbidden, parseForeignKubeconfig } from "@klutch/kube";
import { answerTo, crdObject, isAllowed, leaseCluster, unlimitedClient, waitFor } from "@klutch/kube-testing";
import { createLogger } from "@klutch/telemetry";
import { confinedClient } from "../testing/confined.ts";
import { databases, installProvider, offerDatabases, ownClaim, templateObject } from "../testing/provider.ts";
import { sessionOf, startProvisioning } from "../testing/provisioning.ts";
import { loginFlags, startBackend } from "../testing/start-backend.ts";
import { conditionText, createTenant, exportRequest, mapNamespace } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "revoked-grants", controllerManager: true }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));
const queues: ResourceType = { ...databases, plural: "queues", kind: "Queue" };
await installProvider(client, [crdObject(databases), crdObject(queues)]);
await offerDatabases(client, [ownClaim("secrets")]);
await client.create(apiServiceExportTemplates, templateObject(queues.group, queues.plural));
const records: Readonly<Record<string, unknown>>[] = [];
const auditLogger = createLogger({
  name: "audit",
  write: (line) => records.push(JSON.parse(line) as Readonly<Record<string, unknown>>),
});
const flags = loginFlags("https://backend.example.org", Buffer.alloc(32, 5));
const run = (): ReturnType<typeof startBackend> =>
  startBackend(stack, cluster, { flags, client: confined, auditLogger });
let running = await run();
const { bind, exportTemplates } = await startProvisioning(stack, cluster, { client: confined });
await waitFor("the offers", () =>
  ["databases", "queues"].every((resource) => exportTemplates.find("example.org", resource)),
);

type Resource = "databases" | "queues";

/** Binds for a person with a name in RBAC, and asks for the API as the plugin does. Returns the tenant and its kubeconfig. */
async function bound(
  person: string,
  clusterKey: string,
  ...resources: readonly Resource[]
): Promise<{ readonly namespace: string; readonly kubeconfig: string }> {
  const session = {
    ...sessionOf(person),
    user: `oidc:${person}`,
    groups: ["oidc:team-a"],
    clusterKey,
    clusterName: "prod",
    way: "confirmed",
    address: "192.0.2.1",
    proof: { id: `${person}-${resources.join()}-${Math.random()}`, confirms: true },
  } as const;
  const apis = resources.map((resource) => ({ resource, group: "example.org" }));
  const response = decodeBindingResponse(await bind(session, apis));
  const kubeconfig = Buffer.from(response.kubeconfig, "base64").toString();
  const namespace = /namespace: "?([\w-]+)/.exec(kubeconfig)?.[1] ?? "";
  for (const resource of resources) await ask(namespace, resource);
  return { namespace, kubeconfig };
}

/** Asks as the app cluster's account; gives back the phase and reason that the request gets. */
async function ask(namespace: string, resource: Resource, until = /^Succeeded/): Promise<string> {
  await using tenant = unlimitedClient(cluster, { namespace, name: binderName });
  const ref = { namespace, name: resource };
  await tenant.delete(apiServiceExportRequests, ref);
  const claims = resource === "databases" ? [ownClaim("secrets")] : undefined;
  await tenant.create(apiServiceExportRequests, exportRequest(ref, resource, claims));
  return await waitFor(`the request for ${resource}`, async () => {
    const { status } = await client.get<APIServiceExportRequest>(apiServiceExportRequests, ref);
    const text = `${status?.phase} ${conditionText(status?.conditions, "ExportsReady")}`;
    return until.test(text) ? text : undefined;
  });
}

const newKey = (): string => publicKeyOf(newClusterKey()) ?? "";
const grantsIn = async (namespace: string): Promise<readonly Grant[]> =>
  (await client.list<Grant>(grants, { namespace })).items;
const grantOf = async (namespace: string, person: string, resource: Resource): Promise<Grant> => {
  const found = (await grantsIn(namespace)).find(
    ({ spec }) => spec.identity.subject === person && spec.api.resource === resource,
  );
  assert.ok(found, `a Grant of ${person} for ${resource}`);
  return found;
};

/** Deletes a Grant as an operator; resolves when it is gone. */
async function deleteGrant(namespace: string, person: string, resource: Resource): Promise<void> {
  const name = (await grantOf(namespace, person, resource)).metadata.name ?? "";
  await client.delete(grants, { namespace, name });
  await waitFor(
    "the Grant to go",
    async () => (await client.find(grants, { namespace, name })) === undefined,
    {
      timeoutMs: 15_000,
    },
  );
}

const mayList = (of: string, resource: string, where: string): Promise<boolean> => {
  const group = resource === "secrets" ? "" : "example.org";
  return isAllowed(
    client,
    `system:serviceaccount:${of}:${binderName}`,
    { verb: "list", group, resource },
    where,
  );
};
const exportOf = (namespace: string, resource: Resource): Promise<APIServiceExport> =>
  client.get<APIServiceExport>(apiServiceExports, { namespace, name: `${resource}.example.org` });
const markOf = async (namespace: string, resource: Resource): Promise<string | undefined> =>
  (await exportOf(namespace, resource)).metadata.annotations?.[revokedAnnotation];
const inSync = async (namespace: string, resource: Resource): Promise<string> =>
  conditionText((await exportOf(namespace, resource)).status?.conditions, "ProviderInSync");
const accountOf = (namespace: string): Promise<KubeObject | undefined> =>
  client.find<KubeObject>(serviceAccounts, { namespace, name: binderName });
const outcomes = (namespace: string): readonly unknown[] =>
  records
    .filter(({ decision, tenant }) => decision === "revoke" && tenant === namespace)
    .map(({ reason, person }) => `${String(reason)} ${(person as { user: string }).user}`);

test("an API goes on while one person's Grant is left, ends with the last one, and the tokens end with the app cluster's last", async () => {
  const key = newKey();
  const { namespace } = await bound("ann", key, "databases", "queues");
  const { kubeconfig } = await bound("bob", key, "databases");
  const { spec, metadata } = await grantOf(namespace, "bob", "databases");
  assert.deepEqual(
    [spec.way, spec.address, spec.clusterName, spec.permissionClaims, spec.identity.groups],
    ["confirmed", "192.0.2.1", "prod", ["secrets"], ["oidc:team-a"]],
  );
  assert.deepEqual(metadata.finalizers, [grantFinalizer]);
  const service = await mapNamespace(client, { namespace, name: "team" });
  await waitFor("the rights", () => mayList(namespace, "databases", service));
  const object = {
    apiVersion: "example.org/v1",
    kind: "Database",
    metadata: { namespace: service, name: "one" },
  };
  await client.create<DynamicObject>(databases, object);
  assert.equal(await answerTo(kubeconfig), 200);

  await deleteGrant(namespace, "ann", "databases");
  assert.deepEqual(outcomes(namespace), ["StillGranted oidc:ann"]);
  assert.equal(await markOf(namespace, "databases"), undefined);
  assert.ok(await mayList(namespace, "databases", service));

  await deleteGrant(namespace, "bob", "databases");
  await waitFor("the end of the rights", async () => !(await mayList(namespace, "databases", service)), {
    timeoutMs: 5_000,
  });
  assert.ok(!(await mayList(namespace, "secrets", service)), "its permission claims end as well");
  assert.ok(await mayList(namespace, "queues", service), "another API goes on");
  assert.match((await markOf(namespace, "databases")) ?? "", /^\d{4}-\d\d-\d\dT/);
  await waitFor("the condition", async () =>
    /^False Revoked The platform operator revoked .* databases\.example\.org at \d{4}/.test(
      await inSync(namespace, "databases"),
    ),
  );
  assert.equal(await answerTo(kubeconfig), 200);
  assert.match(
    await ask(namespace, "databases", /Revoked/),
    /^Pending False Revoked the platform operator revoked/,
  );

  await deleteGrant(namespace, "ann", "queues");
  assert.equal(await accountOf(namespace), undefined);
  await waitFor("the end of the token", async () => (await answerTo(kubeconfig)) === 401, {
    timeoutMs: 20_000,
  });
  assert.deepEqual(outcomes(namespace), [
    "StillGranted oidc:ann",
    "ApiRevoked oidc:bob",
    "ClusterRevoked oidc:ann",
  ]);
  await waitFor("the ClusterBinding", async () => {
    const { status } = await client.get<ClusterBinding>(clusterBindings, {
      namespace,
      name: clusterBindingName,
    });
    return (
      conditionText(status?.conditions, "Healthy").startsWith("False AccountMissing") &&
      status?.boundAPIs === 0
    );
  });
  assert.equal((await client.get(databases, { namespace: service, name: "one" })).metadata.name, "one");

  // Binding again gives the API back, and only this one.
  const again = await bound("bob", key, "databases");
  assert.equal(again.namespace, namespace);
  await waitFor("the rights again", () => mayList(namespace, "databases", service));
  assert.ok(!(await mayList(namespace, "queues", service)));
  assert.equal(await markOf(namespace, "databases"), undefined);
  assert.equal(await answerTo(again.kubeconfig), 200);
  await waitFor("the condition to end", async () =>
    (await inSync(namespace, "databases")).startsWith("True"),
  );
});

test("a backend that ends before and within a revocation finishes it when it comes back", async () => {
  const { namespace } = await bound("cleo", newKey(), "databases", "queues");
  const service = await mapNamespace(client, { namespace, name: "team" });
  await waitFor("the rights", () => mayList(namespace, "databases", service));
  await running.stop();
  const doomed = await grantsIn(namespace);
  assert.equal(doomed.length, 2);
  for (const { metadata } of doomed) await client.delete(grants, { namespace, name: metadata.name ?? "" });
  // One export was marked already, as by the backend that ended.
  const mark = { metadata: { annotations: { [revokedAnnotation]: "2026-01-01T00:00:00Z" } } };
  await client.mergePatch(apiServiceExports, { namespace, name: "queues.example.org" }, mark);
  assert.equal((await grantsIn(namespace)).length, 2, "they wait for the backend");
  assert.ok(await mayList(namespace, "databases", service));
  running = await run();
  await waitFor("the Grants to go", async () => (await grantsIn(namespace)).length === 0);
  assert.equal(await accountOf(namespace), undefined);
  assert.equal(await markOf(namespace, "queues"), "2026-01-01T00:00:00Z");
  await waitFor("the end of the rights", async () => !(await mayList(namespace, "databases", service)));
});

test("APIs that were bound before there were Grants stay, and so does their account", async () => {
  const namespace = "earlier";
  await createTenant(client, namespace, "dora#abc123");
  for (const resource of ["databases", "queues"] as const) await ask(namespace, resource);
  const service = await mapNamespace(client, { namespace, name: "team" });
  await waitFor("the rights", () => mayList(namespace, "databases", service));
  // As the release before writes it.
  const identity = { issuer: "https://idp.example.org", subject: "dora", user: "oidc:dora" };
  const spec = {
    identity,
    api: { group: "example.org", resource: "queues" },
    template: { namespace: "default", name: "queues" },
    boundAt: "2026-01-01T00:00:00Z",
  };
  const apiVersion = "klutch.anynines.com/v1alpha1";
  await client.create<KubeObject>(grants, {
    apiVersion,
    kind: "Grant",
    metadata: { namespace, name: "old" },
    spec,
  } as KubeObject);
  await waitFor("the finalizer", async () =>
    (await client.get(grants, { namespace, name: "old" })).metadata.finalizers?.includes(grantFinalizer),
  );
  await deleteGrant(namespace, "dora", "queues");
  await waitFor("the end of queues", async () => !(await mayList(namespace, "queues", service)));
  assert.deepEqual(outcomes(namespace), ["ApiRevoked oidc:dora"]);
  assert.ok(await mayList(namespace, "databases", service));
  assert.notEqual(await accountOf(namespace), undefined);
});

test("an app cluster's account cannot lift its revocation, whatever it writes", async () => {
  const { namespace, kubeconfig } = await bound("eve", newKey(), "databases", "queues");
  await deleteGrant(namespace, "eve", "databases");
  await using own = createKubeClient(parseForeignKubeconfig(kubeconfig));
  const ref = { namespace, name: "databases.example.org" };
  const lift = { metadata: { annotations: { [revokedAnnotation]: null } } };
  await assert.rejects(own.mergePatch(apiServiceExports, ref, lift), isForbidden);
  await assert.rejects(own.delete(apiServiceExports, ref), isForbidden);
  const status = { ...lift, status: { conditions: [] } };
  await own.mergePatch(apiServiceExports, ref, status, { subresource: "status" });
  const left = await grantOf(namespace, "eve", "queues");
  const forged = { ...left, metadata: { namespace, name: "forged" } };
  await assert.rejects(own.create<Grant>(grants, forged), isForbidden);
  const name = left.metadata.name ?? "";
  await assert.rejects(
    own.mergePatch(grants, { namespace, name }, { spec: { api: { resource: "databases" } } }),
    isForbidden,
  );
  await assert.rejects(own.delete(grants, { namespace, name }), isForbidden);
  assert.match(await ask(namespace, "databases", /Revoked/), /^Pending/);
  assert.match((await markOf(namespace, "databases")) ?? "", /^\d{4}/);
  await waitFor("the condition again", async () =>
    (await inSync(namespace, "databases")).includes("Revoked"),
  );
});

test("a tenant that is deleted as a whole does not wait for its Grants, and nothing of it counts as a revocation", async () => {
  const { namespace } = await bound("frida", newKey(), "databases");
  await client.delete(namespaces, { name: namespace });
  await waitFor(
    "the namespace to go",
    async () => (await client.find(namespaces, { name: namespace })) === undefined,
    {
      timeoutMs: 60_000,
    },
  );
  assert.deepEqual(outcomes(namespace), []);
});

test("a login that an earlier release sealed binds, and leaves no Grant", async () => {
  const session = { ...sessionOf("gerda"), clusterKey: newKey(), proof: { id: "gerda", confirms: true } };
  const response = decodeBindingResponse(
    await bind(session, [{ resource: "databases", group: "example.org" }]),
  );
  const namespace =
    /namespace: "?([\w-]+)/.exec(Buffer.from(response.kubeconfig, "base64").toString())?.[1] ?? "";
  assert.deepEqual(await grantsIn(namespace), []);
});

test("a kind that is deleted takes its Grants along and revokes nothing", async () => {
  const { namespace } = await bound("hans", newKey(), "databases");
  const service = await mapNamespace(client, { namespace, name: "team" });
  await waitFor("the rights", () => mayList(namespace, "databases", service));
  const crd = { name: "grants.klutch.anynines.com" };
  await client.delete(customResourceDefinitions, crd);
  await waitFor(
    "the kind to go",
    async () => (await client.find(customResourceDefinitions, crd)) === undefined,
    {
      timeoutMs: 60_000,
    },
  );
  assert.deepEqual(outcomes(namespace), []);
  assert.equal(await markOf(namespace, "databases"), undefined);
  assert.ok(await mayList(namespace, "databases", service));
  // Without the kind a bind goes on where no Grant is needed.
  await bound("hans", newKey(), "databases");
});
