/** The backend with exactly the rights that are shipped for a login, and without those of control-plane mode. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceExportRequests,
  backendClaimsRoleName,
  backendRules,
  controlPlaneModeRoleName,
  controlPlaneModeRules,
  kubeconfigKey,
  shippedOffers,
  type Tenant,
  tenantLimitsName,
  tenantName,
  tenants,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  deployments,
  type DynamicObject,
  namespaces,
  type PolicyRule,
  resourceQuotas,
  secrets,
  secretText,
  serviceAccounts,
} from "@klutch/kube-core";
import { createKubeClient, isForbidden, systemClock } from "@klutch/kube";
import {
  accountConfig,
  answerTo,
  crdObject,
  leaseCluster,
  namespaceObject,
  objectOfType,
  roleBindingObject,
  roleObject,
  secretObject,
  serviceAccountObject,
  waitFor,
} from "@klutch/kube-testing";
import { type Logger, silentLogger } from "@klutch/telemetry";
import { confinedClient } from "../testing/confined.ts";
import { databases, installProvider, offerDatabases, ownClaim } from "../testing/provider.ts";
import { createEndedSessions } from "../sessions/ended-sessions.ts";
import { loginFlags, startBackend } from "../testing/start-backend.ts";
import { createTenant, exportRequest, mapNamespace } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "own-rights", controllerManager: true }));
const { client: admin } = cluster;
const account = { namespace: "klutch-backend", name: "klutch-backend" };

async function give(name: string, rules: readonly PolicyRule[]): Promise<void> {
  await admin.create(clusterRoles, roleObject({ name }, rules));
  const binding = roleBindingObject({ name }, { kind: "ClusterRole", name }, account);
  await admin.create(clusterRoleBindings, binding);
}

await installProvider(admin, [crdObject(databases)]);
await offerDatabases(admin, [ownClaim("secrets")]);
await admin.create(namespaces, namespaceObject(account.namespace));
await admin.create(serviceAccounts, serviceAccountObject(account));
await give(account.name, backendRules);
const APIServiceSelector = { group: databases.group, resource: databases.plural };
const offered = [{ spec: { APIServiceSelector, permissionClaims: [{ resource: "secrets" }] } }];
await give(backendClaimsRoleName, shippedOffers(offered));
stack.use(await confinedClient(cluster));
const client = stack.use(createKubeClient(await accountConfig(cluster, account), { flowControl: false }));
await admin.create(namespaces, namespaceObject("vault"));
await admin.create(secrets, secretObject("vault", "foreign", { a: "b" }));

const login = loginFlags("http://127.0.0.1:1", Buffer.alloc(32, 9));
const namesOf = { day: "24h", lasting: "unlimited" } as const;

for (const [namespace, lifetime] of Object.entries(namesOf))
  test(`with a login it serves app clusters whose credentials live for ${lifetime}`, async () => {
    const flags = [...login, `--credential-lifetime=${lifetime}`];
    const { stop } = await startBackend(stack, cluster, { flags, client });
    await createTenant(admin, namespace, `${namespace}#abc123`);
    const request = exportRequest({ namespace, name: "databases" }, "databases", [ownClaim("secrets")]);
    await admin.create(apiServiceExportRequests, request);
    const kubeconfig = await waitFor("the credential", async () => {
      const secret = await admin.find<DynamicObject>(secrets, { namespace, name: kubeconfigKey });
      return secretText(secret, kubeconfigKey);
    });
    await waitFor("the app cluster to be let in", async () => (await answerTo(kubeconfig)) === 200);
    await mapNamespace(admin, { namespace, name: "team" });
    await waitFor("the rights on the API", () =>
      admin.find(clusterRoles, { name: `klutch-binder-${namespace}` }),
    );
    if (namespace === "day") await limitsHold(namespace);
    await stop();
  });

/** An operator limits a tenant, and ends that: the backend may write and delete the quota. */
async function limitsHold(namespace: string): Promise<void> {
  const own = { namespace, name: tenantName };
  const quota = { namespace: `${namespace}-team`, name: tenantLimitsName };
  await waitFor("the Tenant", async () => (await admin.get<Tenant>(tenants, own)).status?.phase === "Ready");
  const { group, plural: resource } = databases;
  const limits = { objects: [{ group, resource, max: 3 }] };
  await admin.mergePatch(tenants, own, { spec: { limits } });
  await waitFor("the quota", () => admin.find(resourceQuotas, quota));
  await admin.mergePatch(tenants, own, { spec: { limits: null } });
  await waitFor("its end", async () => (await admin.find(resourceQuotas, quota)) === undefined);
}

test("it cannot read, change or delete a Secret of others whose name it knows, and cannot deploy", async () => {
  const foreign = { namespace: "vault", name: "foreign" };
  const lacksRight = (error: unknown): boolean =>
    isForbidden(error) && /cannot \w+ resource "(secrets|deployments)"/.test(String(error));
  await assert.rejects(client.get(secrets, foreign), lacksRight);
  await assert.rejects(client.mergePatch(secrets, foreign, { data: {} }), lacksRight);
  await assert.rejects(client.delete(secrets, foreign), lacksRight);
  // Not even where it may write.
  const beside = { namespace: "day", name: "beside" };
  await admin.create(secrets, secretObject(beside.namespace, beside.name, {}));
  await assert.rejects(client.get(secrets, beside), lacksRight);
  const konnector = objectOfType(deployments, { namespace: "day", name: "konnector" });
  await assert.rejects(client.create(deployments, konnector), lacksRight);
});

test("in control-plane mode without the role of the mode it says which one is missing, and goes on once it is there", async () => {
  const errors: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (message, fields) => void errors.push(`${message} ${String(fields?.["role"])}`),
  };
  const starting = startBackend(stack, cluster, { flags: ["--control-plane-mode"], client, logger });
  const said = waitFor("the missing role", () => errors.find((text) => text.includes("no rights")));
  assert.match(await said, /Apply control-plane-mode\.yaml .* klutch-backend-control-plane-mode$/);
  await give(controlPlaneModeRoleName, controlPlaneModeRules);
  await (await starting).stop();
});

test("a logout is remembered with the shipped rights, and only in the backend's own namespace", async () => {
  const person = { issuer: "https://idp.example.org", subject: "ann" };
  const now = systemClock.now();
  const session = { ...person, id: "one", startedAt: now, endsAt: now + 60_000 };
  const ended = createEndedSessions({ client, namespace: account.namespace, clock: systemClock });
  assert.equal(await ended.has(session), false);
  await ended.end(session);
  await ended.end({ ...session, id: "two" });
  assert.deepEqual([await ended.has(session), await ended.has({ ...session, id: "three" })], [true, false]);
  const elsewhere = createEndedSessions({ client, namespace: "default", clock: systemClock });
  await assert.rejects(elsewhere.end(session), /does not say at the moment which sessions were ended/);
});
