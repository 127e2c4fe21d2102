/** Each panel of the dashboards about konnector and backend has data: a real Prometheus scrapes both beside real API servers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tenants } from "@klutch/api";
import { customResourceDefinitions } from "@klutch/kube-core";
import {
  drawDashboard,
  panelsOf,
  startAlertWatch,
  startBackendProcess,
  untilFilled,
  waitFor,
} from "@klutch/kube-testing";
import { startAgentProcess } from "../testing/agent-process.ts";
import { bindApi, testApi } from "../testing/fixture.ts";
import { installCrd, tenantNamespace } from "../testing/provider-side.ts";
import { startGatedFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const fixture = await startGatedFixture(widgets);
const { provider, cleanup, untilReady, createSynced, gate, kubeconfig } = fixture;
// Crossplane makes the kinds of claims and of composites from one definition.
const definition = {
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
  name: "xwidgets.test.klutch.example",
  uid: "8f0c0bd0-6f0e-4b5e-9a86-3b1c1a0f7f10",
};
const composites = testApi("xwidgets", "XWidget", { namespaced: false });
await installCrd(provider, composites.crd);
for (const { name } of [widgets, composites])
  await provider.client.mergePatch(
    customResourceDefinitions,
    { name },
    { metadata: { ownerReferences: [definition] } },
  );
const backend = cleanup.use(
  await startBackendProcess(provider, {
    flags: [`--external-address=${gate.url}`, "--lease-namespace=default", "--canary-answers-per-minute=600"],
  }),
);
const konnector = cleanup.use(await startAgentProcess(fixture.consumer, ["--canary-seconds=1"]));
await bindApi(fixture, widgets.name, kubeconfig);
await untilReady(widgets.name);
await createSynced(widgets.type, "first");
const watch = cleanup.use(
  await startAlertWatch({
    ports: { konnector: [konnector.probePort], backend: [Number(new URL(backend.probeUrl).port)] },
  }),
);
await watch.settles();

test("each panel about an app cluster has data", async () => {
  const panels = await panelsOf("app-cluster", ["konnector"]);
  assert.ok(panels.length > 20);
  const filled = untilFilled(watch, panels);
  await gate.shut();
  await waitFor(
    "the problem to be seen",
    async () => (await watch.query("klutch_binding_problems")).length > 0,
    {
      timeoutMs: 60_000,
    },
  );
  await gate.open();
  await createSynced(widgets.type, "second");
  await filled;
  await drawDashboard(watch, "app-cluster", "dashboard-app-cluster");
});

test("each panel of the control plane about the backend has data", async () => {
  const objects = [{ group: widgets.type.group, resource: widgets.type.plural, max: 5 }];
  const ref = { namespace: tenantNamespace, name: "tenant" };
  await waitFor("the Tenant", () => provider.client.find(tenants, ref));
  await provider.client.mergePatch(tenants, ref, { spec: { limits: { objects } } });
  const panels = await panelsOf("control-plane", ["backend"]);
  assert.ok(panels.length > 10);
  // A rate needs a beginning: the second refusal is seen.
  for (const body of ["{}", "[]"]) {
    await fetch(`${backend.url}/renew`, { method: "POST", body });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  }
  await untilFilled(watch, panels);
  await drawDashboard(watch, "control-plane", "dashboard-of-backend");
});

test("a panel that asks for a metric that no one has is a fault", async () => {
  const panels = [{ title: "Nothing", expression: "klutch_no_such_metric" }];
  await assert.rejects(untilFilled(watch, panels, 1_000), /Nothing: klutch_no_such_metric/);
});
