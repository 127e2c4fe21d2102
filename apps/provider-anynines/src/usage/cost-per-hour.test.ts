import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Backup,
  backupUsageText,
  missingAnnotation,
  type ServiceInstance,
  usageAnnotation,
} from "@klutch/api";
import { ApiError } from "@klutch/kube";
import { configMaps, type DynamicObject, namespaces } from "@klutch/kube-core";
import { ApiServerModel, seededRandom, VirtualClock } from "@klutch/kube-testing";
import { boundedSeries, createLogger, createMetrics } from "@klutch/telemetry";
import { claimCostPerHour } from "../metrics.ts";
import { usedInstance } from "../testing/usage-provider.ts";
import { backupCostsOf, claimCostsOf, costsOf, createPricesController } from "./cost-per-hour.ts";
import { bytesOf, countsOf } from "./kept-backups.ts";

const now = Date.UTC(2026, 10, 11);
const at = { now, hasConfig: (key: string) => key !== "gone" };

function existing(
  plan: string,
  annotations: Readonly<Record<string, string>> = {},
  config = "c",
): ServiceInstance {
  const open = { service: "pg", plan, config, from: "2026-11-01T00:00:00Z" };
  const object = usedInstance("one", "team", plan);
  return {
    ...object,
    metadata: {
      ...object.metadata,
      annotations: { [usageAnnotation]: JSON.stringify({ closed: [], open }), ...annotations },
    },
  } as unknown as ServiceInstance;
}

const price = (plan: string, perHour: string) => ({
  service: "pg",
  plan,
  price: { currency: "EUR", perHour },
});

test("existing instances with a price cost it per hour; lost ones and those without a price cost nothing", () => {
  const lost = existing("small", { [missingAnnotation]: JSON.stringify({ since: now, confirmed: true }) });
  const all = [existing("small"), existing("small"), lost, existing("huge")];
  assert.deepEqual(costsOf(all, [price("small", "0.5")], at), [
    { labels: { service: "pg", plan: "small", config: "c", currency: "EUR" }, value: 1 },
  ]);
});

test("costs are told by broker, and those of a ProviderConfig that is gone together", () => {
  const all = ["c", "eu-1", "eu-1", "gone"].map((config) => existing("small", {}, config));
  const costs = costsOf(all, [price("small", "0.5")], at).map(({ labels, value }) => [labels.config, value]);
  assert.deepEqual(Object.fromEntries(costs), { c: 0.5, "eu-1": 1, other: 0.5 });
});

test("the same costs are told by namespace of claims; 10,000 namespaces are 51, and no cost is lost", () => {
  const lost = existing("small", { [missingAnnotation]: JSON.stringify({ since: now, confirmed: true }) });
  const prices = [price("small", "0.5")];
  const labels = { claim_namespace: "team", service: "pg", plan: "small", currency: "EUR" };
  assert.deepEqual(claimCostsOf([existing("small"), lost, existing("huge")], prices, now), [
    { labels, value: 0.5 },
  ]);
  assert.deepEqual(claimCostsOf([existing("small")], [], now), []);
  const many = Array.from({ length: 10_000 }, (_, index) => {
    const one = existing("small");
    const own = { ...one.metadata.labels, "crossplane.io/claim-namespace": `team-${index}` };
    return { ...one, metadata: { ...one.metadata, labels: own } };
  });
  const { topValues: most = {} } = claimCostPerHour;
  const series = boundedSeries(claimCostsOf(many, prices, now), { most });
  assert.deepEqual([series.length, series.reduce((sum, { value }) => sum + value, 0)], [51, 5_000]);
});

function keptBackup(more: object): Backup {
  const usage = { service: "pg", plan: "small", config: "c", from: "2026-11-01T00:00:00Z" };
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "Backup",
    metadata: { annotations: { [usageAnnotation]: backupUsageText({ ...usage, ...more }) } },
    spec: { forProvider: { instanceName: "db" } },
  };
}

test("kept backups with a price cost their bytes per hour; those that are gone or of an unknown size cost nothing", () => {
  const gib = 2 ** 30;
  const until = "2026-11-02T00:00:00Z";
  const all = [{ bytes: gib }, { bytes: 3 * gib, config: "gone" }, {}, { bytes: gib, until }].map(keptBackup);
  const prices = [
    { service: "pg", plan: "small", price: { currency: "EUR", perHour: "1", backupPerGiBMonth: "0.73" } },
  ];
  const labels = { service: "pg", plan: "small", config: "c", currency: "EUR" };
  assert.deepEqual(backupCostsOf(all, prices, at), [
    { labels, value: 0.001 },
    { labels: { ...labels, config: "other" }, value: 0.003 },
  ]);
  assert.deepEqual(backupCostsOf(all, [price("small", "1")], at), []);
  const source = { backups: () => all, hasConfig: at.hasConfig };
  assert.deepEqual(
    countsOf(source).map(({ labels: { config, size } }) => [config, size]),
    [
      ["c", "known"],
      ["other", "known"],
      ["c", "unknown"],
    ],
  );
  assert.deepEqual(
    bytesOf(source).map(({ value }) => value),
    [gib, 3 * gib],
  );
});

test("10,000 plans are 101 series, and no cost is lost", () => {
  const plans = Array.from({ length: 10_000 }, (_, index) => `plan-${index}`);
  const costs = costsOf(
    plans.map((plan) => existing(plan)),
    plans.map((plan) => price(plan, "0.25")),
    at,
  );
  assert.equal(costs.length, 101);
  assert.equal(
    costs.reduce((sum, { value }) => sum + value, 0),
    2_500,
  );
});

test("the price list is read again each minute; one with a fault costs nothing and is named once", async (t) => {
  const clock = new VirtualClock({ startMs: now });
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  const client = server.client({ clusterName: "user" });
  const metrics = createMetrics();
  const log: string[] = [];
  const logger = createLogger({ name: "provider", level: "warn", write: (line) => log.push(line) });
  const abort = new AbortController();
  const namespace = "crossplane-system";
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const instances = (): readonly ServiceInstance[] => [existing("small")];
  const controller = createPricesController({
    client,
    namespace,
    instances,
    backups: () => [],
    hasConfig: at.hasConfig,
    clock,
    logger,
    metrics,
    random: seededRandom(1),
  });
  const running = controller.start({ signal: abort.signal });
  t.after(async () => {
    abort.abort();
    await running;
  });
  const setPrice = async (perHour: string): Promise<void> => {
    const ref = { namespace, name: "klutch-prices" };
    const text = `apiVersion: services.klutch.anynines.com/v1alpha1\nkind: PriceList\nprices: [{ service: pg, plan: small, price: { currency: EUR, perHour: "${perHour}" } }]`;
    await client.delete(configMaps, ref).catch(() => undefined);
    await client.create<DynamicObject>(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: ref,
      data: { "prices.yaml": text },
    });
    await clock.advance(150_000);
  };
  await setPrice("0.5");
  assert.match(
    await metrics.text(),
    /klutch_cost_per_hour\{service="pg",plan="small",config="c",currency="EUR"\} 0\.5/,
  );
  assert.match(
    await metrics.text(),
    /klutch_claim_cost_per_hour\{claim_namespace="team",service="pg",plan="small",currency="EUR"\} 0\.5/,
  );
  await setPrice("-1");
  assert.doesNotMatch(await metrics.text(), /klutch_(claim_)?cost_per_hour\{/);
  assert.equal(log.filter((line) => line.includes("price list has faults")).length, 1);
  await setPrice("2");
  assert.match(
    await metrics.text(),
    /klutch_cost_per_hour\{service="pg",plan="small",config="c",currency="EUR"\} 2/,
  );
});

test("a provider that may not read the list says so once, and goes on", async (t) => {
  const clock = new VirtualClock({ startMs: now });
  const log: string[] = [];
  const logger = createLogger({ name: "provider", level: "warn", write: (line) => log.push(line) });
  const abort = new AbortController();
  const controller = createPricesController({
    client: {
      find: () =>
        Promise.reject(
          new ApiError({ status: 403, reason: "Forbidden", message: "configmaps is forbidden" }),
        ),
    },
    namespace: "crossplane-system",
    instances: () => [],
    backups: () => [],
    hasConfig: at.hasConfig,
    clock,
    logger,
    metrics: createMetrics(),
    random: seededRandom(1),
  });
  const running = controller.start({ signal: abort.signal });
  t.after(async () => {
    abort.abort();
    await running;
  });
  await clock.advance(600_000);
  assert.equal(log.length, 1, log.join(""));
  assert.match(log[0] ?? "", /configmaps is forbidden/);
});
