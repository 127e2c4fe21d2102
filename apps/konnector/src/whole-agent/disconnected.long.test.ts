/** The konnector between real API servers while it, its credential or the control plane is away: no claim says more than someone knows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionsOf, findCondition, namespaces, numberAt, recordsAt, textAt } from "@klutch/kube-core";
import { namespaceObject, TcpProxy, waitFor } from "@klutch/kube-testing";
import { databaseApi, readyStatus } from "../testing/database-api.ts";
import { consumerSecret, endTokens, providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { bindApi, type RunningKonnector, startKonnector, widget } from "../testing/fixture.ts";
import { serviceNamespace } from "../testing/pair.ts";
import { freshKubeconfig } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const databases = databaseApi("databases", "Database");
const { type } = databases;
const fixture = await startTenantFixture({ exported: [databases] });
const { consumer, provider, cleanup, onProvider, binding, untilReady, untilReason, create } = fixture;
const gate = cleanup.use(await TcpProxy.start(provider.url));
const first = fixture.kubeconfig.replace(provider.url, gate.url);
await putKubeconfig(provider, providerSecret, first);
await consumer.client.create(namespaces, namespaceObject("fresh"));
const timing = { unreachableAfterMs: 500, heartbeatMs: 1_000 };
let konnector: RunningKonnector = cleanup.use(await startKonnector(fixture, { timing }));

/** `Ready` of a claim with its message, and the generation that the status reports. */
const shown = async (name: string, namespace = "app"): Promise<string> => {
  const claim = await consumer.client.get(type, { namespace, name });
  const ready = recordsAt(claim.status, "conditions").find((one) => one["type"] === "Ready");
  const number = numberAt(claim.status, "observedGeneration");
  return `${String(ready?.["status"])} ${String(ready?.["reason"])} ${number} of ${claim.metadata.generation}: ${String(ready?.["message"])}`;
};
const untilShown = (name: string, what: RegExp, namespace?: string): Promise<unknown> =>
  waitFor(`${name} to show ${what}`, async () => {
    assert.match(await shown(name, namespace), what);
    return true;
  });
const edit = (name: string, size: number): Promise<unknown> =>
  consumer.client.mergePatch(type, { namespace: "app", name }, { spec: { size } });
const versionOf = async (name: string): Promise<string | undefined> =>
  (await consumer.client.get(type, { namespace: "app", name })).metadata.resourceVersion;
const readyOfBinding = async (): Promise<string> => {
  const ready = findCondition(conditionsOf(await binding(databases.name)), "Ready");
  return `${ready?.status} ${ready?.reason}`;
};

/** Time in the binding's column: it gets old while no one can say that the control plane was reached. */
const heardOf = async (): Promise<string> =>
  textAt((await binding(databases.name))?.status, "lastHeartbeatTime") ?? "never";

async function makeReady(name: string): Promise<void> {
  await create(type, widget(type, name, { size: 1 }));
  const upstream = await waitFor(`${name} on the provider`, () => onProvider(type, name));
  const status = { observedGeneration: upstream.metadata.generation, ...readyStatus(`${name}-creds`) };
  const ref = { namespace: serviceNamespace, name };
  await provider.client.mergePatch(type, ref, { status }, { subresource: "status" });
  await untilShown(name, /^True Available 1 of 1/);
}

test("while the konnector runs and the control plane is away, new and edited claims say so, and the others are left alone", async () => {
  await bindApi(fixture, databases.name, first);
  await untilReady(databases.name);
  for (const name of ["kept", "edited", "edited-later"]) await makeReady(name);
  await gate.shut();
  const kept = await versionOf("kept");
  await edit("edited", 2);
  await create(type, widget(type, "new", { size: 1 }));
  await create(type, widget(type, "new", { size: 1 }, { namespace: "fresh" }));
  const away = /^Unknown SpecNotSent .*: .*the provider has not been reached since \d{4}-/;
  await untilShown("edited", away);
  await untilShown("new", away);
  await untilShown("new", away, "fresh");
  assert.match(
    await untilReason(databases.name, "Ready", "ProviderUnreachable"),
    /has not been reached since \S+; [1-9] changes wait/,
  );
  assert.equal(await versionOf("kept"), kept);
});

test("a konnector that starts while the control plane is away says it, too", async () => {
  await konnector[Symbol.asyncDispose]();
  assert.match(await heardOf(), /^\d{4}-/);
  await create(type, widget(type, "unseen", { size: 1 }));
  await edit("edited-later", 2);
  // The API server's own default, which no one wrote.
  await untilShown("unseen", /^Unknown SpecNotSent -1 of 1: no konnector has looked at this claim yet/);
  const kept = await versionOf("kept");
  konnector = cleanup.use(await startKonnector(fixture, { timing }));
  const away = /^Unknown SpecNotSent .*: .*the provider has not been reached since \d{4}-/;
  await untilShown("unseen", away);
  await untilShown("edited-later", away);
  await waitFor("the binding", async () => (await readyOfBinding()) === "False ProviderUnreachable");
  assert.equal(await versionOf("kept"), kept);
  await gate.open();
  await untilReady(databases.name);
  for (const name of ["new", "unseen"]) await waitFor(name, () => onProvider(type, name));
  await untilShown("edited-later", /^Unknown SpecNotObserved 1 of 2/);
});

test("a refused credential is a reason of its own, on the binding and on claims", async () => {
  await endTokens(provider, first);
  // Its watches outlive it: the heartbeat finds it out.
  await waitFor("the binding", async () => (await readyOfBinding()) === "False CredentialRefused");
  await gate.shut();
  await gate.open();
  await create(type, widget(type, "refused", { size: 1 }));
  await untilShown(
    "refused",
    /^Unknown SpecNotSent .*the provider refuses the credential of this cluster since \d{4}-/,
  );
  assert.equal(await readyOfBinding(), "False CredentialRefused");
  const next = (await freshKubeconfig(provider)).replace(provider.url, gate.url);
  await putKubeconfig(provider, providerSecret, next);
  await putKubeconfig(consumer, consumerSecret, next);
  await untilReady(databases.name);
  await waitFor("refused", () => onProvider(type, "refused"));
});
