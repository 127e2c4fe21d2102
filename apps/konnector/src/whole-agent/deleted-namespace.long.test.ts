/**
 * The konnector between two real API servers: a namespace that is deleted with few claims of each of many APIs. These servers have no
 * controller of namespaces, so the tests delete its claims as that would, one API after the other.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServiceBindings, consumerNamespace, releaseDeletionsAnnotation } from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  events,
  findCondition,
  isTrue,
  namespaces,
  recordsAt,
  textAt,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { databaseApi, readyStatus } from "../testing/database-api.ts";
import { bindApi, type RunningKonnector, startKonnector, type TestApi, widget } from "../testing/fixture.ts";
import { klutchProcess } from "../testing/klutch-process.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const instances = databaseApi("instances", "Instance");
const logins = databaseApi("logins", "Login");
const copies = databaseApi("copies", "Copy");
const apis = [instances, logins, copies];
const fixture = await startTenantFixture({ exported: apis });
const { consumer, provider, kubeconfig, cleanup, binding, untilReady, create } = fixture;
const klutch = await klutchProcess(fixture);
const deletionSettleMs = 2_000;
const start = (identity: string): Promise<RunningKonnector> =>
  startKonnector(fixture, { identity, timing: { deletionSettleMs, graceMs: 2_000 } });
let konnector = await start("first");
cleanup.defer(() => konnector[Symbol.asyncDispose]());
for (const { name } of apis) await bindApi(fixture, name, kubeconfig);
for (const { name } of apis) await untilReady(name);

type Claim = readonly [TestApi, string];
const five: readonly Claim[] = [
  [instances, "one"],
  [instances, "two"],
  [logins, "one"],
  [logins, "two"],
  [copies, "one"],
];

const upstream = ([{ type }, name]: Claim, namespace: string): Promise<DynamicObject | undefined> =>
  provider.client.find(type, { namespace: `${tenantNamespace}-${namespace}`, name });
const claimOf = ([{ type }, name]: Claim, namespace: string): Promise<DynamicObject | undefined> =>
  consumer.client.find(type, { namespace, name });
const count = async (claims: readonly Claim[], namespace: string): Promise<number> =>
  (await Promise.all(claims.map((claim) => upstream(claim, namespace)))).filter(
    (found) => found !== undefined,
  ).length;
const untilGone = (claims: readonly Claim[], namespace: string): Promise<unknown> =>
  waitFor(`the claims of ${namespace} to be gone`, async () => {
    const found = await Promise.all(claims.map((claim) => claimOf(claim, namespace)));
    return found.every((claim) => claim === undefined) && (await count(claims, namespace)) === 0;
  });

/** Makes the claims in a new namespace, ready as a provider reports them. */
async function settle(namespace: string, claims: readonly Claim[]): Promise<void> {
  await consumer.client.create(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace },
  });
  await add(namespace, claims);
}

async function add(namespace: string, claims: readonly Claim[]): Promise<void> {
  for (const [{ type }, name] of claims) await create(type, widget(type, name, {}, { namespace }));
  for (const claim of claims) {
    await waitFor(`${claim[1]} on the provider`, () => upstream(claim, namespace));
    const ref = { namespace: `${tenantNamespace}-${namespace}`, name: claim[1] };
    const status = readyStatus("none");
    await provider.client.mergePatch(claim[0].type, ref, { status }, { subresource: "status" });
    await waitFor("its status", async () => isTrue(conditionsOf(await claimOf(claim, namespace)), "Ready"));
  }
}

/** Deletes the claims one after the other. */
async function remove(namespace: string, claims: readonly Claim[]): Promise<void> {
  for (const [{ type }, name] of claims) await consumer.client.delete(type, { namespace, name });
}

async function removeNamespace(name: string, claims: readonly Claim[]): Promise<void> {
  await consumer.client.delete(namespaces, { name });
  await remove(name, claims);
}

async function readyOf(claim: Claim, namespace: string): Promise<string> {
  const ready = recordsAt((await claimOf(claim, namespace))?.status, "conditions").find(
    ({ type }) => type === "Ready",
  );
  return ["status", "reason", "message"].map((field) => textAt(ready, field) ?? "").join(" ");
}

const heldOf = async ({ name }: TestApi): Promise<string> => {
  const found = findCondition(conditionsOf(await binding(name)), "DeletionHeld");
  return found?.status === "True" ? `${found.reason} ${found.message}` : "";
};
const why =
  /^NamespaceDeletion namespace team is being deleted with its \d claims; none of them is deleted upstream\. If this is intended: klutch release namespace\/team$/;

test("a namespace that is deleted with five claims of three APIs deletes none upstream, and each claim says so", async () => {
  await settle("team", five);
  await removeNamespace("team", five);
  for (const api of apis)
    assert.match(await waitFor(`the hold of ${api.name}`, () => heldOf(api)), why, api.name);
  for (const claim of five)
    await waitFor("the claim to say it", async () =>
      (await readyOf(claim, "team")).startsWith(
        "False DeletionHeld its deletion is held, because it looks like an accident: namespace team is being",
      ),
    );
  assert.equal(await count(five, "team"), five.length);
});

test("meanwhile claims of other namespaces are deleted as ever", async () => {
  await settle("other", five);
  await remove("other", [
    [instances, "one"],
    [logins, "one"],
  ]);
  await waitFor("two of them to go", async () => (await count(five, "other")) === 3);
  assert.equal(await count(five, "team"), five.length);
});

test("the hold outlives a restart, and unbinding one of the APIs does not let the others go", async () => {
  await konnector[Symbol.asyncDispose]();
  konnector = await start("second");
  const unbound = await klutch("unbind", copies.name, "--yes", "--timeout=60s");
  assert.equal(unbound.code, 0, unbound.text);
  assert.equal(await claimOf([copies, "one"], "team"), undefined);
  // A claim that is made and deleted later shows that nothing of the namespace waits to be deleted.
  await add("app", [[instances, "marker"]]);
  await remove("app", [[instances, "marker"]]);
  await untilGone([[instances, "marker"]], "app");
  assert.equal(await count(five, "team"), five.length);
  for (const api of [instances, logins]) assert.match(await heldOf(api), why);
});

test("klutch doctor names the claims and the command, and one confirmation lets all APIs go on", async (t) => {
  const doctor = await klutch("doctor");
  assert.equal(doctor.code, 1, doctor.text);
  assert.match(doctor.text, /problem +logins\S+ team\/one\n.*DeletionHeld: its deletion is held/);
  assert.match(doctor.text, /instances\S+ is not Ready[^\n]*\.\n.*klutch release namespace\/team/);
  const released = await klutch("release", "namespace/team");
  assert.equal(released.code, 0, released.text);
  assert.match(released.text, /With it go:\n +instances\S+: one, two\n +logins\S+: one, two\n/);
  const began = performance.now();
  const left = five.filter(([api]) => api !== copies);
  await untilGone(left, "team");
  t.diagnostic(`from the release to gone: ${Math.round(performance.now() - began)} ms`);
  // The database that was unbound stays.
  assert.equal(await count([[copies, "one"]], "team"), 1);
  for (const api of [instances, logins]) await waitFor("no hold", async () => (await heldOf(api)) === "");
  for (const api of [instances, logins]) await untilReady(api.name);
  const late = await klutch("release", "namespace/other");
  assert.match(late.text, /Namespace other is not being deleted, so the konnector holds nothing of it/);
});

test("a namespace whose deletion was confirmed before, and one with four claims, are deleted without a question", async () => {
  const four = five.slice(0, 4);
  await settle("small", four);
  await removeNamespace("small", four);
  await untilGone(four, "small");
  const many: readonly Claim[] = ["a", "b", "c", "d", "e", "f"].map((name) => [instances, name]);
  await settle("preview", many);
  const metadata = { annotations: { [releaseDeletionsAnnotation]: "true" } };
  await consumer.client.mergePatch(namespaces, { name: "preview" }, { metadata });
  await removeNamespace("preview", many);
  await untilGone(many, "preview");
  for (const api of [instances, logins]) assert.equal(await heldOf(api), "");
});

test("five claims of an API that are pruned at once wait for one release, which the claim names, and go at once after it", async (t) => {
  const many: readonly Claim[] = ["a", "b", "c", "d", "e"].map((name) => [logins, name]);
  await add("app", many);
  await remove("app", many);
  await waitFor("the hold", async () => /^MassDeletion 5 of \d+ claims/.test(await heldOf(logins)));
  await waitFor("the claim to say it", async () =>
    /^False DeletionHeld .*If this is intended: klutch release logins\./.test(
      await readyOf([logins, "a"], "app"),
    ),
  );
  const warnings = await waitFor("the event on the claim", async () => {
    const all = await Array.fromAsync(consumer.client.listAll<DynamicObject>(events, { namespace: "app" }));
    const found = all.filter(({ ["reason"]: reason }) => reason === "DeletionHeld");
    return found.length > 0 ? found : undefined;
  });
  assert.match(textAt(warnings[0], "message") ?? "", /klutch release logins\./);
  const released = await klutch("release", logins.name);
  assert.equal(released.code, 0, released.text);
  const began = performance.now();
  await untilGone(many, "app");
  t.diagnostic(`from the release of a pruned API to gone: ${Math.round(performance.now() - began)} ms`);
});

test("releasing one API lets its claims go on, and those of the others wait", async () => {
  const many: readonly Claim[] = [
    ...["a", "b", "c"].map((name): Claim => [instances, name]),
    ...five.slice(2, 4),
  ];
  await settle("half", many);
  await removeNamespace("half", many);
  for (const api of [instances, logins]) await waitFor("the hold", async () => (await heldOf(api)) !== "");
  await waitFor("all of them to be judged", async () =>
    (await Promise.all(many.map((claim) => readyOf(claim, "half")))).every((text) =>
      /DeletionHeld/.test(text),
    ),
  );
  const released = await klutch("release", instances.name);
  assert.equal(released.code, 0, released.text);
  await untilGone(many.slice(0, 3), "half");
  assert.equal(await count(many.slice(3), "half"), 2);
  const annotations = { [releaseDeletionsAnnotation]: new Date().toISOString() };
  const ref = { namespace: consumerNamespace, name: logins.name };
  await consumer.client.mergePatch(apiServiceBindings, ref, { metadata: { annotations } });
  await untilGone(many, "half");
});

test("a release of the second in which a namespace is deleted is not taken for its confirmation", async () => {
  const ref = { namespace: consumerNamespace, name: logins.name };
  for (const namespace of ["quick", "quicker", "quickest"]) {
    await settle(namespace, [...five.slice(0, 4), [instances, "three"]]);
    const annotations = { [releaseDeletionsAnnotation]: new Date().toISOString() };
    await consumer.client.mergePatch(apiServiceBindings, ref, { metadata: { annotations } });
    await removeNamespace(namespace, [...five.slice(0, 4), [instances, "three"]]);
    for (const api of [instances, logins])
      await waitFor("the hold", async () => (await heldOf(api)).includes(`namespace ${namespace} is being`));
    const released = await klutch("release", `namespace/${namespace}`);
    assert.match(released.text, /instances\S+: one, three, two\n +logins\S+: one, two\n/);
    await untilGone(five.slice(0, 4), namespace);
  }
});
