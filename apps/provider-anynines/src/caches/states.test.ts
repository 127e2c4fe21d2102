/** States of managed resources as metrics: few series whatever tenants write, and each object is counted once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { claimNameLabel, claimNamespaceLabel, providerConfigs } from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { ApiServerModel, VirtualClock } from "@klutch/kube-testing";
import { createMetrics } from "@klutch/telemetry";
import { clusterScoped } from "../scope.ts";
import { BackupCaches } from "./backups.ts";
import { createCaches } from "./instances.ts";
import { createResourceStates } from "./states.ts";

const clock = new VirtualClock();

interface Stage extends AsyncDisposable {
  readonly client: KubeClient;
  /** Samples of one metric, each as `{labels} value`. */
  scrape(name: string): Promise<readonly string[]>;
}

async function startStage(mostNamespaces?: number): Promise<Stage> {
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  const { instances, bindings, backups, restores } = clusterScoped;
  for (const type of [instances, bindings, backups, restores, providerConfigs])
    server.register({ type, statusSubresource: true });
  const client = server.client({ clusterName: "provider" });
  const caches = createCaches({ client, clock });
  const backupCaches = new BackupCaches({ client, clock });
  const informers = [
    caches.instances,
    caches.bindings,
    ...caches.configs.informers,
    backupCaches.backups,
    backupCaches.restores,
  ];
  for (const informer of informers) informer.start();
  const metrics = createMetrics();
  const stop = new AbortController();
  const running = createResourceStates(metrics, [{ caches, backupCaches }], mostNamespaces).start({
    signal: stop.signal,
  });
  return {
    client,
    async scrape(name) {
      await clock.advance(2_000);
      const lines = (await metrics.text()).split("\n");
      return lines
        .filter((line) => line.startsWith(`${name}{`))
        .map((line) => line.slice(name.length))
        .toSorted();
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test ended"));
      await running;
      for (const informer of informers) await informer[Symbol.asyncDispose]();
    },
  };
}

function managed(kind: string, namespace: string, name: string, forProvider: object): KubeObject {
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind,
    metadata: {
      name: `${namespace}-${name}`,
      labels: { [claimNamespaceLabel]: namespace, [claimNameLabel]: name },
    },
    spec: { forProvider },
  } as KubeObject;
}

const condition = (type: string, status: string, reason: string): object => ({
  type,
  status,
  reason,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const available = condition("Ready", "True", "Available");
const total = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);

test("instances, bindings and backups are counted by namespace, service, plan, state and reason", async () => {
  await using stage = await startStage();
  const { client } = stage;
  const { instances, bindings, backups } = clusterScoped;
  const spec = { serviceName: "a9s-postgresql13", planName: "single" };
  const add = async (type: typeof instances, object: KubeObject, status: object): Promise<void> => {
    await client.create(type, object);
    await client.mergePatch(
      type,
      { name: object.metadata.name ?? "" },
      { status },
      { subresource: "status" },
    );
  };
  await add(instances, managed("ServiceInstance", "shop", "db", spec), { conditions: [available] });
  await add(bindings, managed("ServiceBinding", "shop", "db-b", { instanceName: "db" }), {
    conditions: [condition("Synced", "False", "BrokerUnreachable")],
  });
  const ended = (finished: string, status: string): object => ({
    conditions: [available],
    atProvider: { id: 1, status, finished_at: finished },
  });
  const backup = (name: string): KubeObject => managed("Backup", "shop", name, { instanceName: "db" });
  await add(backups, backup("old"), ended("2026-01-01T00:00:00Z", "done"));
  await add(backups, backup("good"), ended("2026-01-02T00:00:00Z", "done"));
  await add(backups, backup("bad"), ended("2026-01-03T00:00:00Z", "failed"));
  await add(backups, backup("absurd"), ended("when it suits", "done"));
  const rest = 'service="a9s-postgresql13",plan="single",config="other"';
  assert.deepEqual(await stage.scrape("klutch_managed_resources"), [
    `{kind="backup",claim_namespace="shop",${rest},state="ready",reason="Available"} 4`,
    `{kind="binding",claim_namespace="shop",${rest},state="failed",reason="BrokerUnreachable"} 1`,
    `{kind="instance",claim_namespace="shop",${rest},state="ready",reason="Available"} 1`,
  ]);
  const good = Date.parse("2026-01-02T00:00:00Z") / 1000;
  assert.deepEqual(await stage.scrape("klutch_last_backup_timestamp_seconds"), [
    `{claim_namespace="shop",service="a9s-postgresql13"} ${good}`,
  ]);
  await client.create(providerConfigs, {
    ...managed("ProviderConfig", "", "", {}),
    metadata: { name: "postgresql" },
  });
  assert.deepEqual(await stage.scrape("klutch_broker_healthy"), [], "it was not checked yet");
  await client.mergePatch(
    instances,
    { name: "shop-db" },
    { spec: { providerConfigRef: { name: "postgresql" } } },
  );
  const [, , shown] = await stage.scrape("klutch_managed_resources");
  assert.match(shown ?? "", /kind="instance".*,config="postgresql",state="ready"/);
  const unhealthy = { status: { conditions: [condition("Healthy", "False", "BrokerUnreachable")] } };
  await client.mergePatch(providerConfigs, { name: "postgresql" }, unhealthy, { subresource: "status" });
  assert.deepEqual(await stage.scrape("klutch_broker_healthy"), ['{config="postgresql"} 0']);
});

test("ten thousand services in a thousand namespaces are at most a thousand series, and all are counted", async () => {
  await using stage = await startStage(7);
  const { client } = stage;
  for (let index = 0; index < 10_000; index++) {
    const spec = { serviceName: `service-${index}`, planName: `plan "${index}"\n${"x".repeat(300)}` };
    await client.create(
      clusterScoped.instances,
      managed("ServiceInstance", `ns-${index % 1000}`, `db-${index}`, spec),
    );
  }
  const lines = await stage.scrape("klutch_managed_resources");
  assert.ok(lines.length <= 1_001, `${lines.length}`);
  assert.equal(total(lines), 10_000);
  const namespaces = new Set(lines.map((line) => /claim_namespace="([^"]*)"/.exec(line)?.[1]));
  assert.equal(namespaces.size, 8);
  assert.ok(lines.every((line) => line.length < 400));
});

test("a namespace of claims has as many series as docs/monitoring.md says, whatever number of objects", async () => {
  await using stage = await startStage();
  const { client } = stage;
  const { instances, bindings } = clusterScoped;
  const create = async (type: typeof instances, object: KubeObject): Promise<void> => {
    await client.create(type, object);
    const ref = { name: object.metadata.name ?? "" };
    await client.mergePatch(type, ref, { status: { conditions: [available] } }, { subresource: "status" });
  };
  for (let index = 0; index < 40; index++) {
    const spec = { serviceName: "a9s-postgresql13", planName: index % 2 === 0 ? "small" : "big" };
    await create(instances, managed("ServiceInstance", "shop", `db-${index}`, spec));
    await create(
      bindings,
      managed("ServiceBinding", "shop", `db-${index}-b`, { instanceName: `db-${index}` }),
    );
  }
  const lines = await stage.scrape("klutch_managed_resources");
  assert.equal(lines.length, 2 * 2, lines.join("\n"));
  assert.equal(total(lines), 80);
  assert.ok(
    lines.every((line) => line.length < 170),
    "bytes of a series",
  );
});
