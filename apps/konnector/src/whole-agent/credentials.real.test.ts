/** The konnector's credential of the provider between real API servers: revoked, replaced, and read from a cache that is too old. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { clusterBindingName, clusterBindings, kubeconfigKey } from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition, secrets, secretText } from "@klutch/kube-core";
import { TcpProxy, waitFor } from "@klutch/kube-testing";
import { consumerSecret, endTokens, providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { freshKubeconfig, tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { bindApi, startKonnector, testApi } from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
const fixture = await startTenantFixture({ exported: [widgets] });
const { consumer, provider, cleanup, untilReady, untilReason, createSynced } = fixture;
const gate = cleanup.use(await TcpProxy.start(provider.url));
const gated = (kubeconfig: string): string => kubeconfig.replace(provider.url, gate.url);
const first = gated(fixture.kubeconfig);
await putKubeconfig(provider, providerSecret, first);
const timing = { unreachableAfterMs: 500, heartbeatMs: 1_000 };
const konnector = cleanup.use(await startKonnector(fixture, { timing }));

const held = async (): Promise<string | undefined> =>
  secretText(await consumer.client.get<DynamicObject>(secrets, consumerSecret), kubeconfigKey);

/** Ends all tokens of the tenant and all connections, for open watches outlive their token. */
async function revoke(kubeconfig: string): Promise<void> {
  await endTokens(provider, kubeconfig);
  await gate.shut();
  await gate.open();
}

/** Binds again, as the plugin does. */
const bindAgain = (kubeconfig: string): Promise<void> => putKubeconfig(consumer, consumerSecret, kubeconfig);

/** Waits for a reason of the provider's condition about its Secret. */
async function untilSecretIs(reason: string): Promise<string> {
  const ref = { namespace: tenantNamespace, name: clusterBindingName };
  return waitFor(`SecretValid to be ${reason}`, async () => {
    const found = findCondition(
      conditionsOf(await provider.client.get<DynamicObject>(clusterBindings, ref)),
      "SecretValid",
    );
    return found?.reason === reason ? (found.message ?? "-") : undefined;
  });
}

const untilSynced = (name: string): Promise<unknown> => createSynced(widgets.type, name);

test("a refused credential is told with the cluster that refused it, whose it is and what to do", async () => {
  await bindApi(fixture, widgets.name, first);
  await untilReady(widgets.name);
  await untilSynced("before");
  await revoke(first);
  // The broken connections may be reported first.
  const message = await waitFor("the refusal to be reported", async () => {
    const reported = await untilReason(widgets.name, "Heartbeating", "CredentialRefused");
    return /^the provider at https:\/\/127\.0\.0\.1:\d+ refused the credential/.test(reported) && reported;
  });
  assert.match(message, /Secret klutch-bind\/kubeconfig-test/);
  assert.match(message, /kubectl bind/);
  assert.match(message, /\d+ changes wait/);
  const heartbeats = (): number =>
    konnector.writes.filter((write) => write === "provider merge status clusterbindings").length;
  const tried = heartbeats();
  await waitFor("two more heartbeats to fail", () => heartbeats() >= tried + 2);
  assert.equal(await untilReason(widgets.name, "Heartbeating", "CredentialRefused"), message);
});

test("a fresh credential is not replaced by the revoked one that the provider still hands out", async () => {
  const second = gated(await freshKubeconfig(provider));
  await bindAgain(second);
  await untilSynced("bound-again");
  const message = await untilSecretIs("ProviderSecretInvalid");
  assert.match(message, /Secret cluster-test\/kubeconfig/);
  assert.equal(await held(), second);
});

test("a fresh credential is not replaced by the one that a cache without connection remembers", async () => {
  const second = (await held()) ?? "";
  await putKubeconfig(provider, providerSecret, second);
  await untilReady(widgets.name);
  await revoke(second);
  await untilReason(widgets.name, "Heartbeating", "CredentialRefused");
  const third = gated(await freshKubeconfig(provider));
  await putKubeconfig(provider, providerSecret, third);
  await bindAgain(third);
  await untilSynced("bound-a-third-time");
  assert.equal(await held(), third);
  await untilReady(widgets.name);
});

test("a candidate of the provider that does not work is not taken, a working one is", async () => {
  const working = (await held()) ?? "";
  await putKubeconfig(provider, providerSecret, working.replace(/token: .*/, "token: no"));
  const message = await untilSecretIs("ProviderSecretInvalid");
  assert.equal(
    message,
    "Secret cluster-test/kubeconfig of the provider is not used: it does not work: the answer was 401 (Unauthorized). The credential in use is kept",
  );
  assert.equal(await held(), working);
  const next = gated(await freshKubeconfig(provider));
  await putKubeconfig(provider, providerSecret, next);
  await waitFor("the new one", async () => (await held()) === next);
  await untilSynced("renewed");
});

test("a credential for another server is not tried even once; the binding says that kubectl bind can accept it", async () => {
  const working = (await held()) ?? "";
  let connections = 0;
  const internal = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  cleanup.defer(() => void internal.close());
  await new Promise<void>((resolve) => internal.listen(0, "127.0.0.1", resolve));
  const address = internal.address();
  const elsewhere = `https://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  await putKubeconfig(
    provider,
    providerSecret,
    (await freshKubeconfig(provider)).replace(provider.url, elsewhere),
  );
  const told = await untilSecretIs("ServerNotAccepted");
  assert.match(told, new RegExp(`it is for the server ${elsewhere}, and ${gate.url} was accepted`));
  const said = await untilReason(widgets.name, "SecretValid", "ServerNotAccepted");
  assert.match(said, /run kubectl bind with its address again/);
  await untilSynced("with-the-credential-in-use");
  assert.equal(await held(), working);
  assert.equal(connections, 0);
  const next = gated(await freshKubeconfig(provider));
  await putKubeconfig(provider, providerSecret, next);
  await waitFor("the new one", async () => (await held()) === next);
  await untilReady(widgets.name);
});
