/** Each panel of the control plane's dashboard about the provider has data: a real Prometheus scrapes it beside a real broker. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { backups, managedServiceBindings, serviceInstances } from "@klutch/api";
import { configMaps, type DynamicObject } from "@klutch/kube-core";
import { drawDashboard, panelsOf, startAlertWatch, untilFilled } from "@klutch/kube-testing";
import { backup, binding, instance, startFixture } from "./testing/fixture.ts";
import { startProviderProcess } from "./testing/provider-process.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("provider-dashboards"));
const { client } = fixture;
const folder = await mkdtemp(join(tmpdir(), "klutch-provider-dashboards-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const { forProvider } = instance("db")["spec"] as { forProvider: Readonly<Record<string, string>> };
// It is read at the start, and each minute.
await client.create<DynamicObject>(configMaps, {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "default", name: "klutch-prices" },
  data: {
    "prices.yaml": JSON.stringify({
      apiVersion: "services.klutch.anynines.com/v1alpha1",
      kind: "PriceList",
      prices: [
        {
          service: forProvider["serviceName"],
          plan: forProvider["planName"],
          price: { currency: "EUR", perHour: "0.25", backupPerGiBMonth: "0.02" },
        },
      ],
    }),
  },
});
const provider = stack.use(await startProviderProcess(folder, fixture.kubeconfig));
const watch = stack.use(await startAlertWatch({ ports: { provider: [provider.port] } }));
await watch.settles();
const ready = { type: "Ready", status: "True" };

test("each panel of the control plane about the provider has data", async () => {
  const panels = await panelsOf("control-plane", ["provider-anynines"]);
  for (const title of ["Cost per hour", "Size of kept backups", "Idle databases", "Time to readiness"])
    assert.ok(
      panels.some((panel) => panel.title === title),
      title,
    );
  // A rate needs a beginning: histograms appear with their first value.
  await client.create(serviceInstances, instance("before"));
  await fixture.condition(serviceInstances, "before", ready);
  await watch.settles();
  await client.create(serviceInstances, instance("db"));
  await client.create(managedServiceBindings, binding("db-b", "db"));
  await fixture.condition(managedServiceBindings, "db-b", ready);
  await client.create(backups, backup("night", "db"));
  await fixture.condition(backups, "night", ready);
  await untilFilled(watch, panels);
  assert.deepEqual(await watch.query("sum(klutch_cost_per_hour)"), [0.5]);
  await drawDashboard(watch, "control-plane", "dashboard-of-provider");
});
