/** Tests limits of tenants on a real API server, where Kubernetes itself counts, with the backend's account under its policy. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceNamespaces,
  binderName,
  boundByAnnotation,
  type ClusterBinding,
  clusterBindings,
  clusterNameAnnotation,
  membersAnnotation,
  type Tenant,
  tenantLimitsName,
  tenantQuotaName,
  tenants,
} from "@klutch/api";
import { type ApiError, isForbidden, type KubeClient } from "@klutch/kube";
import { type DynamicObject, namespaces, parseQuantity, recordAt, resourceQuotas } from "@klutch/kube-core";
import {
  anyObject,
  crdObject,
  isAllowed,
  leaseCluster,
  objectOfType,
  startKubectl,
  untilServed,
  unlimitedClient,
  waitFor,
} from "@klutch/kube-testing";
import { budgetTests } from "./testing/budget-tests.ts";
import { confinedClient } from "../testing/confined.ts";
import { databases, installProvider } from "../testing/provider.ts";
import { startBackend } from "../testing/start-backend.ts";
import { recordUsage } from "../testing/usage.ts";
import { askForNamespace, conditionText, createTenant, serviceNamespaceOf } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "tenants", controllerManager: "quotas" }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));
await installProvider(client, [crdObject(databases, { properties: { spec: anyObject } })]);
for (const { plural, group } of [databases, tenants]) await untilServed(client, `${plural}.${group}`);
await recordUsage(client, { "shop-cluster": "small" });
const { metrics } = await startBackend(stack, cluster, { flags: ["--control-plane-mode"], client: confined });

const count = "count/databases.example.org";
const shop = "shop-cluster";
const own = { namespace: shop, name: "tenant" };
const cluster1 = { namespace: shop, name: "cluster" };
const limit = (max: number): { readonly spec: object } => ({
  spec: { limits: { objects: [{ group: databases.group, resource: databases.plural, max }] } },
});

const readTenant = (): Promise<Tenant | undefined> => client.find<Tenant>(tenants, own);
const readBinding = (): Promise<ClusterBinding> => client.get<ClusterBinding>(clusterBindings, cluster1);
const said = async (type: string): Promise<string> =>
  conditionText((await readTenant())?.status?.conditions, type);

/** Returns the number that the quota of a service namespace allows once Kubernetes obeys it; undefined before. */
async function allowed(namespace: string): Promise<number | undefined> {
  const quota = await client.find<DynamicObject>(resourceQuotas, { namespace, name: tenantLimitsName });
  const [wanted, obeyed] = ["spec", "status"].map((part) =>
    parseQuantity(recordAt(quota, part, "hard")[count]),
  );
  return wanted === obeyed && recordAt(quota, "status", "used")[count] !== undefined ? obeyed : undefined;
}
const untilAllowed = (namespace: string, number: number): Promise<unknown> =>
  waitFor(`${number} to be allowed in ${namespace}`, async () => (await allowed(namespace)) === number, {
    timeoutMs: 90_000,
  });
const make = (by: KubeClient, namespace: string, name: string): Promise<unknown> =>
  by.create(databases, objectOfType(databases, { namespace, name }));
const exceeds = (error: unknown): boolean =>
  isForbidden(error) && /exceeded quota: klutch-tenant-limits/.test((error as ApiError).message);

await createTenant(client, shop, "ann#abc123");
await client.mergePatch(clusterBindings, cluster1, {
  metadata: { annotations: { [clusterNameAnnotation]: "shop", [boundByAnnotation]: "ann@example.org" } },
});
/** Has a namespace mapped, as soon as Kubernetes has counted what the account may keep. */
async function map(name: string): Promise<string> {
  const ref = { namespace: shop, name };
  await waitFor(`${name} to be taken`, () => askForNamespace(client, ref).then(() => true));
  return waitFor(`the service namespace of ${name}`, () => serviceNamespaceOf(client, ref));
}
const one = await map("one");
const two = await map("two");
const account = stack.use(unlimitedClient(cluster, { namespace: shop, name: binderName }));

test("each app cluster has one Tenant with its names and people; an operator's words in it stay", async () => {
  const tenant = await waitFor("the Tenant", async () => {
    const found = await readTenant();
    return found?.status?.phase === "Ready" ? found : undefined;
  });
  assert.deepEqual(tenant.spec, { displayName: "shop", owner: "ann@example.org" });
  assert.equal(tenant.status?.memberCount, 1);
  assert.equal(tenant.status.members?.[0]?.subject, "ann");
  const hours = async (): Promise<number> => {
    const end = Date.parse((await readTenant())?.status?.credentialEndsAt ?? "");
    return (end - Date.parse(tenant.metadata.creationTimestamp ?? "")) / 3_600_000;
  };
  await waitFor("the end of the credential", async () => Math.abs((await hours()) - 24) < 0.1);
  await client.mergePatch(tenants, own, { spec: { owner: "team-shop@example.org", costCentre: "7" } });
  const since = "2026-01-01T00:00:00.000Z";
  const joined = [{ issuer: "https://idp.example.org", subject: "bob", since }];
  await client.mergePatch(
    namespaces,
    { name: shop },
    { metadata: { annotations: { [membersAnnotation]: JSON.stringify(joined) } } },
  );
  await waitFor("the member", async () => (await readTenant())?.status?.memberCount === 2);
  const changed = await client.get<Tenant>(tenants, own);
  assert.deepEqual(changed.status?.members?.[1], joined[0]);
  assert.deepEqual(changed.spec, { displayName: "shop", owner: "team-shop@example.org", costCentre: "7" });
  await waitFor("the contact", async () => (await readBinding()).status?.contact === "team-shop@example.org");
  // No limits, so no quota and no condition of one.
  assert.equal(await client.find(resourceQuotas, { namespace: one, name: tenantLimitsName }), undefined);
  assert.deepEqual(
    changed.status?.conditions?.map(({ type }) => type),
    ["Ready", "AppCluster"],
  );
});

test("two service namespaces share one limit; the API server refuses the third object with its words", async () => {
  await client.mergePatch(tenants, own, limit(2));
  for (const place of [one, two]) await untilAllowed(place, 2);
  await make(account, one, "a");
  await untilAllowed(two, 1);
  await make(account, two, "b");
  for (const place of [one, two]) await untilAllowed(place, 1);
  for (const place of [one, two]) await assert.rejects(make(account, place, "c"), exceeds);
  const reported = [{ group: "example.org", resource: "databases", max: 2, used: 2 }];
  await waitFor("the report", async () => (await readBinding()).status?.limits?.[0]?.used === 2);
  assert.deepEqual((await readBinding()).status?.limits, reported);
  assert.deepEqual((await readTenant())?.status?.used, [
    { group: "example.org", resource: "databases", used: 2 },
  ]);
  const text = await metrics.text();
  assert.match(text, /^klutch_tenant_objects\{tenant="shop-cluster",resource="databases.example.org"\} 2$/m);
  assert.match(text, /^klutch_tenant_limits_reached\{resource="databases.example.org"\} 1$/m);
  assert.equal((await said("WithinLimits")).trim(), "True");
  // A namespace that comes later begins with the same limit, before its tenant has rights there.
  const three = await map("three");
  await untilAllowed(three, 0);
  await assert.rejects(make(account, three, "c"), exceeds);
});

test("an object that is deleted in one namespace can be made in another", async () => {
  await client.delete(databases, { namespace: two, name: "b" });
  await untilAllowed(one, 2);
  await make(account, one, "b");
  await untilAllowed(two, 0);
});

test("creates in both namespaces at the same moment exceed the limit at worst once, and the Tenant says so", async () => {
  await client.mergePatch(tenants, own, limit(4));
  await untilAllowed(two, 2);
  const burst = Array.from({ length: 6 }, (_, index) => ({
    namespace: index % 2 === 0 ? one : two,
    name: `burst-${index}`,
  }));
  const made = await Promise.allSettled(burst.map(({ namespace, name }) => make(account, namespace, name)));
  assert.ok(made.some(({ status }) => status === "rejected"));
  const numberIn = async (place: string): Promise<number> =>
    (await client.list(databases, { namespace: place })).items.length;
  const [inOne, inTwo] = [await numberIn(one), await numberIn(two)];
  assert.ok(inOne + inTwo >= 4 && inOne + inTwo <= 6, `${inOne} and ${inTwo}`);
  await waitFor("the number", async () => (await readTenant())?.status?.used?.[0]?.used === inOne + inTwo);
  await untilAllowed(one, inOne);
  await untilAllowed(two, inTwo);
  for (const place of [one, two]) await assert.rejects(make(account, place, "more"), exceeds);
  const expected = inOne + inTwo > 4 ? "False OverLimit" : "True";
  await waitFor("the condition", async () => (await said("WithinLimits")).startsWith(expected));
  for (const ref of burst) await client.delete(databases, ref);
  await untilAllowed(two, 2);
});

test("an operator's new limit holds within seconds; one below present use deletes nothing and says so with numbers", async () => {
  const startedAt = performance.now();
  await client.mergePatch(tenants, own, limit(3));
  await untilAllowed(two, 1);
  assert.ok(performance.now() - startedAt < 20_000);
  await client.mergePatch(tenants, own, limit(1));
  await untilAllowed(two, 0);
  await waitFor("the numbers", async () =>
    (await said("WithinLimits")).startsWith(
      "False OverLimit databases.example.org: 2, and 1 are allowed. Nothing is deleted",
    ),
  );
  assert.equal((await client.list(databases, { namespace: one })).items.length, 2);
});

test("the app cluster's account can neither read nor write Tenants and quotas", async () => {
  const user = `system:serviceaccount:${shop}:${binderName}`;
  for (const verb of ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"])
    for (const [group, resource] of [
      [tenants.group, "tenants"],
      [tenants.group, "tenants/status"],
      ["", "resourcequotas"],
    ] as const)
      for (const place of [shop, one, undefined])
        assert.equal(
          await isAllowed(client, user, { verb, group, resource }, place),
          false,
          `${verb} ${resource}`,
        );
});

budgetTests({ client, metrics, said, make: () => make(account, two, "over"), exceeds });

test("a report on limits that the account forged is put right, and the quota refuses all the same", async () => {
  const forged = [{ group: "example.org", resource: "databases", max: 1000, used: 0 }];
  const status = { limits: forged, contact: "mallory@example.org" };
  await account.mergePatch(clusterBindings, cluster1, { status }, { subresource: "status" });
  await assert.rejects(make(account, two, "forged"), exceeds);
  await waitFor("the truth", async () => {
    const { limits = [], contact } = (await readBinding()).status ?? {};
    return limits[0]?.max === 1 && limits[0].used === 2 && contact === "team-shop@example.org";
  });
});

test("an account that deletes a mapping and asks for it again begins with nothing more", async () => {
  await client.delete(apiServiceNamespaces, { namespace: shop, name: "three" });
  const four = await map("four");
  // Until Kubernetes has counted there, it refuses as well.
  await assert.rejects(make(account, four, "early"), isForbidden);
  await untilAllowed(four, 0);
});

test("a limit of a kind that does not exist says which one, and which are bound", async () => {
  const unknown = { group: "example.org", resource: "databasis", max: 1 };
  const known = { group: "example.org", resource: "databases", max: 5 };
  await client.mergePatch(tenants, own, { spec: { limits: { objects: [unknown, known] } } });
  await waitFor("the words", async () =>
    (await said("LimitsEnforced")).startsWith(
      "False UnknownKind spec.limits.objects names databasis.example.org: no kind of this control plane is called so",
    ),
  );
  // The other one holds.
  await untilAllowed(two, 3);
  await assert.rejects(
    client.mergePatch(tenants, own, { spec: { limits: { objects: [known, known] } } }),
    /Duplicate value/,
  );
  await assert.rejects(client.mergePatch(tenants, own, limit(-1)), /spec\.limits\.objects\[0\]\.max/);
});

test("a limit of namespaces holds for its tenant in place of the flag, and says whose it is", async () => {
  const limits = { serviceNamespaces: 3, objects: null };
  await client.mergePatch(tenants, own, { spec: { limits } });
  // The quota of the account follows: twice the limit, and one more.
  await waitFor("the limit to be known", async () => {
    const ref = { namespace: shop, name: tenantQuotaName };
    const quota = await client.find<DynamicObject>(resourceQuotas, ref);
    return recordAt(quota, "spec", "hard")["count/apiservicenamespaces.klutch.anynines.com"] === "7";
  });
  await askForNamespace(client, { namespace: shop, name: "five" });
  await waitFor("the condition", async () => {
    const { status } = await readBinding();
    return /^False TooManyNamespaces 4 .* 3 are allowed.*raise spec\.limits\.serviceNamespaces of Tenant shop-cluster\/tenant$/.test(
      conditionText(status?.conditions, "WithinLimits"),
    );
  });
  assert.equal(await serviceNamespaceOf(client, { namespace: shop, name: "five" }), undefined);
  await client.mergePatch(tenants, own, { spec: { limits: { serviceNamespaces: 4 } } });
  await waitFor("the fifth", () => serviceNamespaceOf(client, { namespace: shop, name: "five" }));
});

test("a limit that is removed takes its quotas and reports along; a Tenant that is deleted comes back without limits", async () => {
  const untilFree = async (): Promise<void> => {
    for (const namespace of [one, two])
      await waitFor("the quota to go", async () => {
        return (await client.find(resourceQuotas, { namespace, name: tenantLimitsName })) === undefined;
      });
  };
  await client.mergePatch(tenants, own, limit(4));
  await untilAllowed(one, 4);
  await client.delete(tenants, own);
  await waitFor("the new one", async () => (await readTenant())?.spec.displayName === "shop");
  await untilFree();
  await client.mergePatch(tenants, own, { spec: { owner: "team-shop@example.org", ...limit(4).spec } });
  await untilAllowed(one, 4);
  await client.mergePatch(tenants, own, { spec: { limits: null } });
  await untilFree();
  await waitFor("the report to go", async () => (await readBinding()).status?.limits === undefined);
  await make(account, two, "free");
});

test("a Tenant without an app cluster says that it waits for one; what another program reports on is left alone", async () => {
  const place = "a9s-tenants-operator-system";
  await client.create(namespaces, objectOfType(namespaces, { name: place }));
  const spec = {
    displayName: "acme",
    tenantUUID: "7d1f6b1e-0000-4000-8000-000000000000",
    provider: "cognito",
    region: "eu-central-1",
    apis: [{ group: "anynines.com", resource: "postgresqlinstances" }],
    idp: { userPoolID: "x" },
  };
  await client.create(tenants, objectOfType(tenants, { namespace: place, name: "acme" }, { spec }));
  const read = (): Promise<Tenant> => client.get<Tenant>(tenants, { namespace: place, name: "acme" });
  await waitFor("the phase", async () => (await read()).status?.phase === "Pending");
  assert.match(
    conditionText((await read()).status?.conditions, "AppCluster"),
    /^False NoAppCluster No app cluster belongs to this Tenant yet/,
  );
  assert.deepEqual((await read()).spec, spec);
  const oidc = { clientID: "abc", issuer: "https://cognito.example.org" };
  await client.mergePatch(
    tenants,
    { namespace: place, name: "acme" },
    { status: { phase: "Provisioning", oidc, conditions: [] } },
    { subresource: "status" },
  );
  // Reconciled by a change of ours that comes later.
  const beside = { namespace: shop, name: "beside" };
  await client.create(tenants, objectOfType(tenants, beside, { spec: {} }));
  await waitFor("the other to be told", async () =>
    /belongs to the Tenant tenant; beside has no effect/.test(
      conditionText((await client.get<Tenant>(tenants, beside)).status?.conditions, "AppCluster"),
    ),
  );
  const { status } = await read();
  assert.deepEqual(status, { phase: "Provisioning", clusters: 0, oidc, conditions: [] });
  await client.delete(tenants, beside);
});

test("operators see who has what in one table", async () => {
  const kubectl = await startKubectl(stack, cluster);
  await client.mergePatch(
    clusterBindings,
    cluster1,
    {
      status: {
        konnectorVersion: "v1.6.0",
        heartbeatInterval: "55s",
        lastHeartbeatTime: new Date().toISOString(),
      },
    },
    { subresource: "status" },
  );
  await waitFor("the binding to be ready", async () =>
    conditionText((await readBinding()).status?.conditions, "Ready").startsWith("True"),
  );
  const table = await kubectl("get", "tenants,clusterbindings", "-A");
  if (process.env["KLUTCH_SHOW"] !== undefined) process.stdout.write(table);
  assert.match(table, /NAMESPACE +NAME +DISPLAY NAME +OWNER +MEMBERS +CLUSTERS +PHASE +READY +MESSAGE +AGE/);
  assert.match(table, /shop-cluster +tenant\S+ +shop +team-shop@example\.org +2 +1 +Ready +True/);
  assert.match(table, /shop-cluster +cluster\S+ +shop +ann@example\.org +0 +v1\.6\.0 +\d+s +True/);
});

test("with the tenant's namespace everything of it goes", async () => {
  await client.mergePatch(tenants, own, limit(5));
  await untilAllowed(one, 4);
  await client.delete(namespaces, { name: shop });
  await waitFor(
    "the namespaces to go",
    async () => {
      const { items } = await client.list<DynamicObject>(namespaces);
      return !items.some(({ metadata }) => metadata.name?.startsWith(shop));
    },
    { timeoutMs: 120_000 },
  );
  assert.deepEqual((await client.list(resourceQuotas)).items, []);
  assert.deepEqual(
    (await client.list(tenants)).items.map(({ metadata }) => metadata.name),
    ["acme"],
  );
});
