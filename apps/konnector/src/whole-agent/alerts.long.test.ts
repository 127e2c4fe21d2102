/** Each alert of app clusters, made to fire in a real Prometheus by its fault on real API servers, and to clear by its end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  apiServiceBindings,
  binderName,
  consumerNamespace,
  providerVersionAnnotation,
  releaseCreationsAnnotation,
  releaseDeletionsAnnotation,
} from "@klutch/api";
import { formatKubeconfig, serviceAccountToken } from "@klutch/kube";
import { leases, microTime, textAt } from "@klutch/kube-core";
import { startAlertWatch, TcpProxy, waitFor } from "@klutch/kube-testing";
import { providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { bindApi, type RunningKonnector, startKonnector, testApi, widget } from "../testing/fixture.ts";
import { serviceNamespace } from "../testing/pair.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const fixture = await startTenantFixture({ exported: [widgets] });
const { consumer, provider, cleanup, untilReady, createSynced, onProvider, onConsumer } = fixture;
const theLease = { namespace: consumerNamespace, name: consumerNamespace };
const theBinding = { namespace: consumerNamespace, name: widgets.name };
const gate = cleanup.use(await TcpProxy.start(provider.url));
/** A kubeconfig of the tenant whose token lives for these seconds. */
async function kubeconfigFor(expirationSeconds: number): Promise<string> {
  const account = { namespace: tenantNamespace, name: binderName };
  const { signal } = new AbortController();
  const { token } = await serviceAccountToken(provider.client, account, { expirationSeconds, signal });
  const { server, ca } = provider.config;
  const auth = { kind: "token", token } as const;
  const text = formatKubeconfig({ server, ca, name: "provider", namespace: tenantNamespace, auth });
  return text.replace(provider.url, gate.url);
}
const timing = { unreachableAfterMs: 500, heartbeatMs: 1_000, deletionSettleMs: 300 };
const konnector: RunningKonnector = cleanup.use(await startKonnector(fixture, { timing }));
const day = 24 * 3600;

const first = await kubeconfigFor(day);
await putKubeconfig(provider, providerSecret, first);
await bindApi(fixture, widgets.name, first);
await untilReady(widgets.name);
await createSynced(widgets.type, "first");
const watch = cleanup.use(await startAlertWatch({ ports: { konnector: [konnector.probePort] } }));
await watch.settles();

test("no alert fires while all is well", async () => {
  // As long as the longest wait of an alert and the longest range of a rate, in this test's time.
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  assert.deepEqual(await watch.active(), []);
});

test("KlutchControlPlaneAway and KlutchBindingNotReady: the control plane cannot be reached", async () => {
  const labels = await watch.seesFault(
    "KlutchControlPlaneAway",
    () => gate.shut(),
    async () => {
      await watch.fires("KlutchBindingNotReady", 150_000);
      await gate.open();
    },
  );
  assert.equal(labels["reason"], "ProviderUnreachable");
  await watch.clears("KlutchBindingNotReady");
});

test("KlutchCredentialEnds: the credential has minutes left and is not renewed", async () => {
  await watch.seesFault(
    "KlutchCredentialEnds",
    async () => putKubeconfig(provider, providerSecret, await kubeconfigFor(3600)),
    async () => putKubeconfig(provider, providerSecret, await kubeconfigFor(day)),
  );
});

test("KlutchDeletionsHeld: most claims are deleted at once", async () => {
  const names = Array.from({ length: 8 }, (_, index) => `many-${index}`);
  for (const name of names) {
    await consumer.client.create(widgets.type, widget(widgets.type, name, {}));
    await waitFor(`${name} on the provider`, () => onProvider(widgets.type, name));
  }
  await watch.seesFault(
    "KlutchDeletionsHeld",
    async () => {
      for (const name of names) await consumer.client.delete(widgets.type, { namespace: "app", name });
    },
    () =>
      consumer.client.mergePatch(apiServiceBindings, theBinding, {
        metadata: { annotations: { [releaseDeletionsAnnotation]: new Date().toISOString() } },
      }),
  );
});

/** The lease goes to a process that is not scraped. */
async function stealLease(): Promise<void> {
  const spec = {
    holderIdentity: "stranger",
    leaseDurationSeconds: 600,
    renewTime: microTime(Date.now()),
  };
  await consumer.client.mergePatch(leases, theLease, { spec });
}

async function giveLeaseBack(): Promise<void> {
  await consumer.client.mergePatch(leases, theLease, {
    spec: { holderIdentity: "", leaseDurationSeconds: 1 },
  });
}

test("KlutchNoLeader: the lease is lost to a process that is not scraped", async () => {
  const labels = await watch.seesFault("KlutchNoLeader", stealLease, giveLeaseBack);
  assert.equal(labels["name"], consumerNamespace);
});

test("KlutchCreationsHeld: the control plane is behind what the binding remembers, and lacks the object of a claim", async () => {
  await createSynced(widgets.type, "lost");
  const upstream = { namespace: serviceNamespace, name: "lost" };
  const status = { phase: "Made" };
  await provider.client.mergePatch(widgets.type, upstream, { status }, { subresource: "status" });
  const isShown = async (): Promise<boolean> =>
    textAt(await onConsumer(widgets.type, "lost"), "status", "phase") === status.phase;
  await waitFor("the status of lost", isShown);
  const annotate = (annotations: Readonly<Record<string, string>>): Promise<unknown> =>
    consumer.client.mergePatch(apiServiceBindings, theBinding, { metadata: { annotations } });
  await watch.seesFault(
    "KlutchCreationsHeld",
    async () => {
      await stealLease();
      await watch.fires("KlutchNoLeader");
      await provider.client.delete(widgets.type, upstream);
      // What a restore leaves: versions that are lower than they were.
      await annotate({ [providerVersionAnnotation]: "400000000" });
      await giveLeaseBack();
    },
    () => annotate({ [releaseCreationsAnnotation]: new Date().toISOString() }),
  );
  await waitFor("the object", () => onProvider(widgets.type, "lost"));
});
