/** The objective of the canary in a real Prometheus: its budget burns when the backend of real API servers stops, and no longer when it is back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type BackendProcess, startAlertWatch, startBackendProcess, waitFor } from "@klutch/kube-testing";
import { bindApi, startKonnector, testApi } from "../testing/fixture.ts";
import { startGatedFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const fixture = await startGatedFixture(widgets);
const { provider, cleanup, untilReady, gate, kubeconfig } = fixture;
const startBackend = (name: string): Promise<BackendProcess> =>
  startBackendProcess(provider, {
    name,
    flags: [`--external-address=${gate.url}`, "--lease-namespace=default", "--canary-answers-per-minute=600"],
  });
let backend = cleanup.use(await startBackend("first"));
// Minutes are seconds here.
const konnector = cleanup.use(
  await startKonnector(fixture, { timing: { canaryMs: 1_000, canaryLateMs: 900 } }),
);
await bindApi(fixture, widgets.name, kubeconfig);
await untilReady(widgets.name);
await waitFor("a probe to be answered", async () => {
  const text = await (await fetch(`http://127.0.0.1:${konnector.probePort}/metrics`)).text();
  return /^klutch_canary_probes_total\{outcome="answered"\} [1-9]/m.test(text);
});
const watch = cleanup.use(await startAlertWatch({ ports: { konnector: [konnector.probePort] } }));
await watch.settles();

test("the budget does not burn while probes are answered", async () => {
  await new Promise((resolve) => setTimeout(resolve, 30_000));
  assert.deepEqual(await watch.active(), []);
});

test("KlutchErrorBudgetBurnsFast: the backend does not run", async () => {
  await watch.seesFault(
    "KlutchErrorBudgetBurnsFast",
    () => backend.stop(),
    async () => {
      backend = cleanup.use(await startBackend("second"));
    },
  );
});

test("KlutchErrorBudgetBurnsFast: the control plane cannot be reached", async () => {
  await watch.seesFault(
    "KlutchErrorBudgetBurnsFast",
    () => gate.shut(),
    () => gate.open(),
  );
});

test("KlutchErrorBudgetBurns: the backend was away for a while on one day, and hours later the budget rests", async () => {
  // A day is 72 seconds.
  await using slow = await startAlertWatch({ ports: { konnector: [konnector.probePort] }, fasterBy: 1_200 });
  await slow.settles();
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  await slow.seesFault(
    "KlutchErrorBudgetBurns",
    () => backend.stop(),
    async () => {
      backend = cleanup.use(await startBackend("third"));
    },
  );
});
