/** Alerts of the backend, made to fire in a real Prometheus by their faults on a real API server, and to clear by their ends. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { clusterBindingName, clusterBindings, kubeconfigKey, tenants } from "@klutch/api";
import { createAuthority } from "@klutch/certificates";
import { leases, microTime, secrets } from "@klutch/kube-core";
import {
  anyObject,
  type BackendProcess,
  crdObject,
  leaseCluster,
  objectOfType,
  startAlertWatch,
  startBackendProcess,
  untilServed,
  waitFor,
} from "@klutch/kube-testing";
import { databases, installProvider } from "./testing/provider.ts";
import { recordUsage } from "./testing/usage.ts";
import { askForNamespace, createTenant, serviceNamespaceOf } from "./testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "backend-alerts", controllerManager: "quotas" }));
const { client } = cluster;
await installProvider(client, [crdObject(databases, { properties: { spec: anyObject } })]);
for (const { plural, group } of [databases, tenants]) await untilServed(client, `${plural}.${group}`);
const start = (name: string, ...flags: readonly string[]): Promise<BackendProcess> =>
  startBackendProcess(cluster, { name, flags: ["--lease-namespace=default", ...flags] });
const portOf = ({ probeUrl }: BackendProcess): number => Number(new URL(probeUrl).port);
const lease = { namespace: "default", name: "klutch-backend" };

const shop = "shop-cluster";
await createTenant(client, shop, "ann#abc123");
await recordUsage(client, { [shop]: "small" });
const backend = stack.use(await start("backend"));
const ref = { namespace: shop, name: "one" };
await waitFor("the namespace to be taken", () => askForNamespace(client, ref).then(() => true));
const place = await waitFor("the service namespace", () => serviceNamespaceOf(client, ref));

test("KlutchTenantLimitReached: a tenant has as many databases as it may", async () => {
  await using watch = await startAlertWatch({ ports: { backend: [portOf(backend)] } });
  await watch.settles();
  assert.deepEqual(await watch.active(), [], "no alert without a fault");
  const limitTo = (max: number): Promise<unknown> => {
    const objects = [{ group: databases.group, resource: databases.plural, max }];
    return client.mergePatch(tenants, { namespace: shop, name: "tenant" }, { spec: { limits: { objects } } });
  };
  const labels = await watch.seesFault(
    "KlutchTenantLimitReached",
    async () => {
      await limitTo(1);
      // The API server refuses all until the controller manager has counted for the first time.
      const one = objectOfType(databases, { namespace: place, name: "a" });
      await waitFor("the quota to be counted", () => client.create(databases, one));
    },
    () => limitTo(5),
  );
  assert.equal(labels["resource"], "databases.example.org");
});

test("KlutchTenantOverBudget: a tenant has used more than its budget, until the budget is raised", async () => {
  await using watch = await startAlertWatch({ ports: { backend: [portOf(backend)] } });
  await watch.settles();
  // The tenant used 5.00 EUR in this month.
  const allow = (perMonth: string): Promise<unknown> =>
    client.mergePatch(
      tenants,
      { namespace: shop, name: "tenant" },
      { spec: { budget: { currency: "EUR", perMonth } } },
    );
  const labels = await watch.seesFault(
    "KlutchTenantOverBudget",
    () => allow("4.00"),
    () => allow("400.00"),
  );
  assert.equal(labels["tenant"], shop);
});

test("KlutchNoLeader: the lease is lost to a process that is not scraped", async () => {
  await using watch = await startAlertWatch({ ports: { backend: [portOf(backend)] } });
  await watch.settles();
  const spec = (holderIdentity: string, leaseDurationSeconds: number): object => ({
    spec: { holderIdentity, leaseDurationSeconds, renewTime: microTime(Date.now()) },
  });
  const labels = await watch.seesFault(
    "KlutchNoLeader",
    () => client.mergePatch(leases, lease, spec("stranger", 600)),
    () => client.mergePatch(leases, lease, spec("", 1)),
  );
  assert.equal(labels["name"], "klutch-backend");
});

test("KlutchTenantCredentialEnds: a backend renews for minutes only, and one that renews for a day ends it", async () => {
  await backend.stop();
  // It is kept while more than half of the lifetime is left, so the next backend needs to make one.
  await client.delete(secrets, { namespace: shop, name: kubeconfigKey });
  await using short = await start("short", "--credential-lifetime=20m");
  await using watch = await startAlertWatch({ ports: { backend: [portOf(short)] } });
  const labels = await watch.fires("KlutchTenantCredentialEnds", 120_000);
  assert.equal(labels["tenant"], shop);
  await short.stop();
  await using long = await start("long", "--credential-lifetime=24h");
  await using later = await startAlertWatch({ ports: { backend: [portOf(long)] } });
  await later.settles();
  await waitFor("the end to be shown", async () => {
    const text = await (await fetch(`${long.probeUrl}/metrics`)).text();
    return /^klutch_tenant_credential_expiration_timestamp_seconds\{tenant="shop-cluster"\} \d+/m.test(text);
  });
  // As long as the alert would have to wait.
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  assert.ok(!(await later.active()).includes("KlutchTenantCredentialEnds"));
});

test("KlutchAppClusterAway: an app cluster does not report any more", async () => {
  const ref = { namespace: shop, name: clusterBindingName };
  // In the konnector's place, whose heartbeat is one write to the status.
  const beat = (): Promise<unknown> => {
    const status = { lastHeartbeatTime: new Date().toISOString(), heartbeatInterval: "4s" };
    return client.mergePatch(clusterBindings, ref, { status }, { subresource: "status" });
  };
  await using again = await start("again");
  await beat();
  let beating = setInterval(() => void beat(), 2_000);
  stack.defer(() => clearInterval(beating));
  await using watch = await startAlertWatch({ ports: { backend: [portOf(again)] } });
  await watch.settles();
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  await watch.seesFault(
    "KlutchAppClusterAway",
    async () => clearInterval(beating),
    async () => {
      beating = setInterval(() => void beat(), 2_000);
    },
  );
});

test("KlutchServedCertificateEnds: the certificate ends in days, and a renewed one ends the alert", async () => {
  const now = new Date();
  const authority = await createAuthority("alerts", { now, days: 400 });
  const tls = { cert: join(cluster.dataDir, "served.crt"), key: join(cluster.dataDir, "served.key") };
  const serve = async (days: number): Promise<void> => {
    const subject = { use: "server", name: "backend", hosts: ["127.0.0.1"] } as const;
    const pair = await authority.issue(subject, { now, days });
    await writeFile(tls.key, pair.key.reveal(), { mode: 0o600 });
    await writeFile(tls.cert, pair.certificate);
  };
  await serve(90);
  await using secure = await startBackendProcess(cluster, {
    name: "secure",
    tls,
    flags: ["--lease-namespace=default"],
  });
  await using watch = await startAlertWatch({ ports: { backend: [portOf(secure)] } });
  await watch.settles();
  await watch.seesFault(
    "KlutchServedCertificateEnds",
    () => serve(3),
    () => serve(90),
  );
});
