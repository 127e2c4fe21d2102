/** The konnector between two real API servers, with claims that give names: it has no right on the other objects, and works without one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AnsweredPermissionClaim, consumerNamespace, konnectorName } from "@klutch/api";
import { configMaps, type DynamicObject, secrets } from "@klutch/kube-core";
import { createKubeClient } from "@klutch/kube";
import { isAllowed, secretObject, waitFor } from "@klutch/kube-testing";
import { serviceNamespace } from "../testing/pair.ts";
import { agentConfig, bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";
import { grantUsualClaims } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const claimed = [
  { resource: "secrets", selector: { owner: "Provider" as const, names: ["login", "ca.crt"] } },
  {
    resource: "configmaps",
    selector: { owner: "Consumer" as const, names: ["settings"] },
    update: { fields: ["data.size"] },
  },
].map((claim) => ({ ...claim, group: "", version: "v1" }));
const accepted: readonly AnsweredPermissionClaim[] = claimed.map((claim) => ({
  ...claim,
  state: "Accepted",
}));
const fixture = await startTenantFixture({ exported: [{ ...widgets, claims: claimed }] });
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer, untilReady, create } = fixture;
await grantUsualClaims(provider);
const konnector = cleanup.use(await startKonnector(fixture));

const user = `system:serviceaccount:${consumerNamespace}:${konnectorName}`;
const may = (verb: string, resource: string, name?: string): Promise<boolean> =>
  isAllowed(consumer.client, user, { verb, group: "", resource, name }, "app");
const secretOfProvider = (name: string): Promise<unknown> =>
  provider.client.create(secrets, secretObject(serviceNamespace, name, { a: "1" }));

test("Secrets and ConfigMaps of the claimed names cross, both ways, and follow changes", async () => {
  await bindApi(fixture, widgets.name, kubeconfig, accepted);
  await untilReady(widgets.name);
  await consumer.client.create<DynamicObject>(configMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "app", name: "settings" },
    data: { size: "1" },
  });
  await create(widgets.type, widget(widgets.type, "one", {}));
  await waitFor("the service namespace", () => onProvider(widgets.type, "one"));
  for (const name of ["login", "ca.crt", "other"]) await secretOfProvider(name);
  await waitFor("both Secrets", async () => {
    const copies = [await onConsumer(secrets, "login"), await onConsumer(secrets, "ca.crt")];
    return copies.every((copy) => copy !== undefined);
  });
  assert.equal(await onConsumer(secrets, "other"), undefined);
  await waitFor("the ConfigMap", () => onProvider(configMaps, "settings"));
  const ref = { namespace: "app", name: "login" };
  await consumer.client.delete(secrets, ref);
  await waitFor("the copy to be made again", () => onConsumer(secrets, "login"));
  const there = { namespace: serviceNamespace, name: "login" };
  await provider.client.mergePatch(secrets, there, { data: { a: "Mg==" } });
  await waitFor("the change", async () => {
    const copy = await onConsumer(secrets, "login");
    return copy !== undefined && JSON.stringify(copy).includes('"Mg=="');
  });
  await provider.client.mergePatch(configMaps, { ...there, name: "settings" }, { data: { size: "2" } });
  await waitFor("the provider's change of the person's ConfigMap", async () =>
    JSON.stringify(await onConsumer(configMaps, "settings")).includes('"size":"2"'),
  );
  await provider.client.delete(secrets, there);
  await waitFor("the copy to go", async () => (await onConsumer(secrets, "login")) === undefined);
});

test("the agent can read no other Secret, and no list of them", async () => {
  assert.deepEqual(
    [
      await may("get", "secrets", "login"),
      await may("list", "secrets", "login"),
      await may("get", "secrets", "other"),
    ],
    [true, true, false],
  );
  for (const verb of ["list", "watch", "update", "delete"])
    assert.equal(await may(verb, "secrets"), false, verb);
  assert.equal(await may("create", "secrets"), true);
  await using agent = createKubeClient(await agentConfig(consumer), { userAgent: "test" });
  await consumer.client.create(secrets, secretObject("app", "own", { password: "hunter2" }));
  await assert.rejects(agent.list(secrets), /cannot list resource "secrets"/);
  await assert.rejects(
    agent.get(secrets, { namespace: "app", name: "own" }),
    /cannot get resource "secrets"/,
  );
  await assert.rejects(
    agent.create(secrets, secretObject("app", "planted", { a: "1" })),
    /only objects that an accepted claim names/,
  );
  const watched = konnector.watches.filter((watch) => watch === "consumer secrets");
  // Besides those of klutch-bind: one for each name.
  assert.ok(watched.length >= 2, konnector.watches.join(", "));
});
