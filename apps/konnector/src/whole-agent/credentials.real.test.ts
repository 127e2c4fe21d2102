/** The konnector's credential of the provider between real API servers: revoked, replaced, and read from a cache that is too old. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  binderName,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  kubeconfigKey,
} from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  namespaces,
  secrets,
  secretText,
  serviceAccounts,
} from "@klutch/kube-core";
import { ApiError, createKubeClient, parseForeignKubeconfig } from "@klutch/kube";
import { TcpProxy, waitFor } from "@klutch/kube-testing";
import { pairOf } from "../testing/pair.ts";
import {
  exportCrd,
  freshKubeconfig,
  installCrd,
  prepareTenant,
  tenantNamespace,
} from "../testing/provider-side.ts";
import { bindApi, startKonnector, startWorld, testApi, widget } from "../testing/world.ts";

const world = await startWorld();
const { consumer, provider } = world;
const { above, untilReady, untilReason, create } = pairOf(world);
const widgets = testApi("widgets", "Widget");
const gate = await TcpProxy.start(provider.url);
const gated = (kubeconfig: string): string => kubeconfig.replace(provider.url, gate.url);
await installCrd(provider, widgets.crd);
const first = gated(await prepareTenant(provider, ["widgets"]));
const providerSecret = { namespace: tenantNamespace, name: kubeconfigKey };
const consumerSecret = { namespace: consumerNamespace, name: "kubeconfig-test" };
const dataOf = (text: string): object => ({ data: { kubeconfig: Buffer.from(text).toString("base64") } });
await provider.client.mergePatch(secrets, providerSecret, dataOf(first));
await exportCrd(provider, widgets.crd);
const konnector = await startKonnector(world, { timing: { unreachableAfterMs: 500, heartbeatMs: 1_000 } });
after(async () => {
  await konnector[Symbol.asyncDispose]();
  await gate[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const held = async (): Promise<string | undefined> =>
  secretText(await consumer.client.get<DynamicObject>(secrets, consumerSecret), kubeconfigKey);

/** Status of a request with exactly this kubeconfig. */
async function answerTo(kubeconfig: string): Promise<number> {
  await using client = createKubeClient(parseForeignKubeconfig(kubeconfig.replace(gate.url, provider.url)));
  try {
    await client.get(namespaces, { name: tenantNamespace });
    return 200;
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
}

/** Ends all tokens of the tenant, as an operator does, and all connections, for open watches outlive their token. */
async function revoke(kubeconfig: string): Promise<void> {
  const account = { namespace: tenantNamespace, name: binderName };
  await provider.client.delete(serviceAccounts, account);
  await provider.client.create(serviceAccounts, {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: account,
  });
  await waitFor("the token to be refused", async () => (await answerTo(kubeconfig)) === 401, {
    timeoutMs: 30_000,
  });
  await gate.shut();
  await gate.open();
}

/** What the plugin does when the person binds again. */
async function bindAgain(kubeconfig: string): Promise<void> {
  await consumer.client.mergePatch(secrets, consumerSecret, dataOf(kubeconfig));
}

/** What the provider is told about its Secret. */
async function untilSecretIs(reason: string): Promise<string> {
  const ref = { namespace: tenantNamespace, name: clusterBindingName };
  return waitFor(
    `SecretValid to be ${reason}`,
    async () => {
      const found = findCondition(
        conditionsOf(await provider.client.get<DynamicObject>(clusterBindings, ref)),
        "SecretValid",
      );
      return found?.reason === reason ? (found.message ?? "-") : undefined;
    },
    { timeoutMs: 60_000 },
  );
}

async function untilSynced(name: string): Promise<void> {
  await create(widgets.type, widget(widgets.type, name, {}));
  await waitFor(`${name} above`, () => above(widgets.type, name), { timeoutMs: 60_000 });
}

test("a refused credential is told with the cluster that refused it, whose it is and what to do", async () => {
  await bindApi(world, widgets.name, first);
  await untilReady(widgets.name);
  await untilSynced("before");
  await revoke(first);
  const message = await untilReason(widgets.name, "Heartbeating", "ProviderUnreachable");
  assert.match(message, /^the provider at https:\/\/127\.0\.0\.1:\d+ refused the credential/);
  assert.match(message, /Secret klutch-bind\/kubeconfig-test/);
  assert.match(message, /kubectl bind/);
  assert.match(message, /\d+ changes wait/);
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
  await provider.client.mergePatch(secrets, providerSecret, dataOf(second));
  await untilReady(widgets.name);
  await revoke(second);
  await untilReason(widgets.name, "Heartbeating", "ProviderUnreachable");
  const third = gated(await freshKubeconfig(provider));
  await provider.client.mergePatch(secrets, providerSecret, dataOf(third));
  await bindAgain(third);
  await untilSynced("bound-a-third-time");
  assert.equal(await held(), third);
  await untilReady(widgets.name);
});

test("a candidate of the provider that does not work is not taken, a working one is", async () => {
  const working = (await held()) ?? "";
  await provider.client.mergePatch(
    secrets,
    providerSecret,
    dataOf(working.replace(/token: .*/, "token: no")),
  );
  const message = await untilSecretIs("ProviderSecretInvalid");
  assert.match(message, /401/);
  assert.equal(await held(), working);
  const next = gated(await freshKubeconfig(provider));
  await provider.client.mergePatch(secrets, providerSecret, dataOf(next));
  await waitFor("the new one", async () => (await held()) === next);
  await untilSynced("renewed");
});
