/** The konnector and the backend between two real API servers, while the provider moves living APIs from one version to another. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import { apiServiceBindingCrd, bindingRoleName } from "@klutch/api";
import { isNotFound } from "@klutch/kube";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  isDeleting,
  listAt,
  recordsAt,
  secrets,
  valueAt,
} from "@klutch/kube-core";
import { secretObject, startBackendProcess, waitFor } from "@klutch/kube-testing";
import { createLogger } from "@klutch/telemetry";
import { serviceNamespace } from "../testing/pair.ts";
import { offer, providerSecrets } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import {
  type ApiVersion,
  changeVersions,
  inVersion,
  migrateStorage,
  storedVersions,
  untilServes,
  withVersions,
} from "../testing/versioned-api.ts";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";

const first: ApiVersion = { name: "v1", fields: { size: "integer", color: "string" }, storage: true };
const second: ApiVersion = { name: "v2", fields: { ...first.fields, tier: "string" } };
const claims = [providerSecrets];
const widgets = withVersions(testApi("widgets", "Widget"), [first]);
const [v1, v2] = [inVersion(widgets.type, "v1"), inVersion(widgets.type, "v2")];
const gadgets = withVersions(testApi("gadgets", "Gadget"), [first]);
const smaller: ApiVersion = { name: "v2", fields: { size: "integer" }, storage: true };
const fixture = await startTenantFixture({ exported: [{ ...widgets, claims }, gadgets], backend: true });
const { consumer, provider, cleanup, onProvider, onConsumer, untilReady, untilReason, createSynced } =
  fixture;
await offer(provider, widgets.type, claims);
await offer(provider, gadgets.type, []);
cleanup.use(
  await startBackendProcess(provider, {
    flags: [`--external-address=${provider.url}`, "--lease-namespace=default"],
  }),
);
const konnector = cleanup.use(await startKonnector(fixture, { timing: { heldSchemaMs: 500 } }));

const names = Array.from({ length: 50 }, (_, index) => `w-${String(index).padStart(2, "0")}`);
/** Claims that no step changes. */
const resting = names.slice(39);
/** The last `spec.size` written to each claim. */
const sizes = new Map<string, number>();

const sizeIn = (object: DynamicObject | undefined): unknown => valueAt(object?.spec, "size");

/** Changes claims by turns, through one version and the other, and counts in `edits` those that the server took. */
async function edit(stop: AbortSignal, edits: { taken: number }): Promise<void> {
  for (let turn = 1; !stop.aborted; turn++) {
    const name = names[turn % 39] ?? "";
    const size = (sizes.get(name) ?? 1) + 1;
    try {
      const type = turn % 2 === 0 ? v1 : v2;
      await consumer.client.mergePatch(type, { namespace: "app", name }, { spec: { size } });
      sizes.set(name, size);
      edits.taken++;
    } catch (error) {
      // The version is not served yet, or no more.
      if (!isNotFound(error)) throw error;
    }
    await sleep(5);
  }
}

/** The state that must not change: no object is created again, and credentials stay. */
async function identities(): Promise<Readonly<Record<string, unknown>>> {
  const found: Record<string, unknown> = {};
  for (const [side, { client }, namespace] of [
    ["consumer", consumer, "app"],
    ["provider", provider, serviceNamespace],
  ] as const) {
    const version = (await storedVersions(side === "consumer" ? consumer : provider, widgets.name)).at(-1);
    const objects = await client.list(inVersion(widgets.type, String(version)), { namespace });
    for (const { metadata } of objects.items)
      found[`${side} ${metadata.name}`] = [metadata.uid, metadata.deletionTimestamp];
    for (const { metadata } of (await client.list(secrets, { namespace })).items)
      found[`${side} Secret ${metadata.name}`] = [metadata.uid, metadata.resourceVersion];
  }
  return found;
}

/** Both objects of the claims that no one changes, as they were last written. */
async function versionsAtRest(): Promise<readonly unknown[]> {
  const [version] = (await storedVersions(consumer, widgets.name)).slice(-1);
  const type = inVersion(widgets.type, String(version));
  const found = resting.flatMap((name) => [onConsumer(type, name), onProvider(type, name)]);
  return (await Promise.all(found)).map((object) => object?.metadata.resourceVersion);
}

async function untilConverged(): Promise<void> {
  const type = (await storedVersions(consumer, widgets.name)).includes("v2") ? v2 : v1;
  for (const [name, size] of sizes)
    await waitFor(
      `${name} of size ${size} on the provider`,
      async () => sizeIn(await onProvider(type, name)) === size,
    );
}

/** Counts the konnector's writes since the count began, by kind. */
function writesSince(count: number): Readonly<Record<string, number>> {
  const groups = Map.groupBy(konnector.writes.slice(count), (write) => write);
  return Object.fromEntries([...groups].map(([write, all]) => [write, all.length]));
}

/** One step of the provider, during edits. Reports how much the agent wrote for it. */
async function step(t: TestContext, change: () => Promise<void>): Promise<void> {
  const [before, rest] = [await identities(), await versionsAtRest()];
  const count = konnector.writes.length;
  const stop = new AbortController();
  const edits = { taken: 0 };
  const editing = edit(stop.signal, edits);
  await change();
  const soFar = edits.taken;
  await waitFor("more edits after the change", () => edits.taken >= soFar + 20);
  stop.abort();
  await editing;
  await untilConverged();
  t.diagnostic(`${edits.taken} edits of 39 claims; the agent wrote ${JSON.stringify(writesSince(count))}`);
  assert.deepEqual(await identities(), before);
  assert.deepEqual(await versionsAtRest(), rest, "claims without changes are not written on either side");
  assert.deepEqual(
    konnector.writes.filter((write) => / delete /.test(write)),
    [],
  );
}

test("50 claims with credentials live in the first version", async () => {
  await bindApi(fixture, widgets.name, fixture.kubeconfig, [{ ...providerSecrets, state: "Accepted" }]);
  await untilReady(widgets.name);
  await untilServes(consumer, widgets.name, "v1");
  for (const name of names) await consumer.client.create(v1, widget(v1, name, { size: 1, color: "red" }));
  for (const name of names) {
    await waitFor(`${name} on the provider`, () => onProvider(v1, name));
    await provider.client.create(secrets, secretObject(serviceNamespace, name, { password: name }));
    const status = { status: { size: 1 } };
    await provider.client.mergePatch(v1, { namespace: serviceNamespace, name }, status, {
      subresource: "status",
    });
  }
  for (const name of names) {
    await waitFor(`the Secret of ${name}`, () => onConsumer(secrets, name));
    await waitFor(`the status of ${name}`, async () => (await onConsumer(v1, name))?.status !== undefined);
  }
});

test("a second version is added", (t) =>
  step(t, async () => {
    await changeVersions(provider, widgets.name, [first, second]);
    await untilServes(consumer, widgets.name, "v1", "v2");
  }));

test("objects are stored in the second version from now on, and it is the one that is synced", async (t) => {
  await step(t, async () => {
    await changeVersions(provider, widgets.name, [
      { ...first, storage: false },
      { ...second, storage: true },
    ]);
    await untilServes(consumer, widgets.name, "v2", "v1");
  });
  const ref = { namespace: "app", name: "w-00" };
  // An API server stores in the new version a moment after it says so.
  await waitFor("a field of the second version to be kept", async () => {
    const kept = await consumer.client.mergePatch<DynamicObject>(v2, ref, { spec: { tier: "gold" } });
    return valueAt(kept.spec, "tier") === "gold";
  });
  await waitFor("a field of the second version", async () => {
    return valueAt((await onProvider(v2, "w-00"))?.spec, "tier") === "gold";
  });
  // A controller of the provider that knows the first version only.
  const status = { status: { size: 7 } };
  await provider.client.mergePatch(v1, { ...ref, namespace: serviceNamespace }, status, {
    subresource: "status",
  });
  await waitFor("its status", async () => valueAt((await onConsumer(v2, "w-00"))?.status, "size") === 7);
  await consumer.client.mergePatch(v1, ref, { spec: { color: null } });
  await waitFor(
    "the field to be gone",
    async () => valueAt((await onProvider(v2, "w-00"))?.spec, "color") === undefined,
  );
});

test("the first version is not served any more", async (t) => {
  await step(t, async () => {
    await changeVersions(provider, widgets.name, [
      { ...first, served: false, storage: false },
      { ...second, storage: true },
    ]);
    await untilServes(consumer, widgets.name, "v2");
  });
  await assert.rejects(consumer.client.list(v1), isNotFound);
  assert.deepEqual(await storedVersions(consumer, widgets.name), ["v1", "v2"]);
  // Its fields were last applied in the first version.
  await consumer.client.mergePatch(v2, { namespace: "app", name: "w-48" }, { spec: { color: null } });
  await waitFor(
    "the field to be gone",
    async () => valueAt((await onProvider(v2, "w-48"))?.spec, "color") === undefined,
  );
});

test("a provider that takes the first version away, although objects were applied in it, is still served", async (t) => {
  await migrateStorage(provider, widgets.name, v2);
  await step(t, () => changeVersions(provider, widgets.name, [{ ...second, storage: true }]));
  await consumer.client.mergePatch(
    v2,
    { namespace: "app", name: "w-49" },
    { spec: { size: 9, color: null } },
  );
  await waitFor("the change", async () => sizeIn(await onProvider(v2, "w-49")) === 9);
  assert.deepEqual((await onProvider(v2, "w-49"))?.spec, { size: 9 });
});

const three = ["g-0", "g-1", "g-2"];
const upstreamOf = async (version: string): Promise<readonly unknown[]> =>
  Promise.all(
    three.map(async (name) => (await onProvider(inVersion(gadgets.type, version), name))?.metadata.uid),
  );

test("a version that claims do not fit is held; they are synced in the one before, as long as the provider serves it", async () => {
  await bindApi(fixture, gadgets.name, fixture.kubeconfig);
  for (const name of three) await createSynced(gadgets.type, name, { size: 1, color: "red" });
  const before = await upstreamOf("v1");
  await changeVersions(provider, gadgets.name, [{ ...first, storage: false }, smaller]);
  const held = await untilReason(gadgets.name, "SchemaInSync", "BreakingSchemaChange");
  assert.match(held, /does not fit 3 of 3 existing objects: app\/g-0 \(spec\.color: would be lost\)/);
  assert.match(held, /v2 in place of v1 spec\.color: the field is removed/);
  assert.match(
    held,
    /Change these objects, or let .*klutch release gadgets\.test\.klutch\.example \(release with hash/,
  );
  const ref = { namespace: "app", name: "g-0" };
  await consumer.client.mergePatch(gadgets.type, ref, { spec: { size: 2, color: "blue" } });
  await waitFor("the edit", async () => sizeIn(await onProvider(gadgets.type, "g-0")) === 2);
  await changeVersions(provider, gadgets.name, [{ ...first, served: false, storage: false }, smaller]);
  const words = await untilReason(gadgets.name, "Connected", "NoCommonVersion");
  assert.match(
    words,
    /serves only version v2 of gadgets\.\S+, and this cluster v1, so syncing is paused until/,
  );
  for (const name of three)
    await consumer.client.mergePatch(gadgets.type, { ...ref, name }, { spec: { size: 3, color: null } });
  await untilReady(gadgets.name);
  await untilServes(consumer, gadgets.name, "v2");
  const type = inVersion(gadgets.type, "v2");
  for (const name of three) await waitFor(name, async () => sizeIn(await onProvider(type, name)) === 3);
  assert.deepEqual(await upstreamOf("v2"), before);
});

/** Lets the agent only read CRDs, until the returned function is called. */
async function takeCrdRights(...names: readonly string[]): Promise<() => Promise<void>> {
  const { client } = consumer;
  const roles = await Promise.all(names.map((name) => client.get<DynamicObject>(clusterRoles, { name })));
  const set = async (change: (rule: Readonly<Record<string, unknown>>) => unknown): Promise<void> => {
    for (const { metadata, ...role } of roles)
      await client.mergePatch(
        clusterRoles,
        { name: metadata.name ?? "" },
        { rules: recordsAt(role, "rules").map(change) },
      );
  };
  const isOfCrds = (rule: unknown): boolean =>
    listAt(rule, "resources").includes("customresourcedefinitions");
  await set((rule) => (isOfCrds(rule) ? { ...rule, verbs: ["get", "list", "watch"] } : rule));
  return () => set((rule) => rule);
}

test("a CRD that somebody creates again in the app cluster, with another scope, stops the sync and costs nothing", async () => {
  const type = inVersion(gadgets.type, "v2");
  const before = await upstreamOf("v2");
  // The replacement must come before the agent, which would create the CRD, and would also change one that is not served yet.
  const giveBack = await takeCrdRights("klutch-bind-konnector", bindingRoleName(gadgets.name));
  const name = { name: gadgets.name };
  const { metadata, spec } = await consumer.client.get<DynamicObject>(customResourceDefinitions, name);
  await consumer.client.delete(customResourceDefinitions, name);
  await untilReason(gadgets.name, "DeletionHeld", "MassDeletion");
  for (const claim of three) {
    const ref = { namespace: "app", name: claim };
    // The agent gives a claim that is not being deleted its finalizer back, and the CRD is marked before its objects.
    await waitFor(`${claim} to be deleted with its CRD`, async () =>
      isDeleting(await consumer.client.get<DynamicObject>(type, ref)),
    );
    await consumer.client.mergePatch(type, ref, { metadata: { finalizers: null } });
  }
  const { annotations, ownerReferences } = metadata;
  const remade = {
    ...gadgets.crd,
    metadata: { ...name, annotations, ownerReferences },
    spec: { ...(spec as object), scope: "Cluster" },
  };
  await waitFor("the other CRD", () => consumer.client.create(customResourceDefinitions, remade));
  const words = await untilReason(gadgets.name, "Connected", "ForeignCustomResourceDefinition");
  assert.match(
    words,
    /was created again in this cluster, .*spec\.scope is "Namespaced" instead of "Cluster"\. Delete it/,
  );
  await giveBack();
  await consumer.client.delete(customResourceDefinitions, name);
  for (const claim of three)
    await waitFor(`${claim} to be back`, async () => sizeIn(await onConsumer(type, claim)) === 3);
  assert.deepEqual(await upstreamOf("v2"), before);
  assert.deepEqual(
    konnector.writes.filter((write) => write.startsWith("provider delete gadgets")),
    [],
  );
});

test("a konnector that is older than this cluster's kind of bindings says so, and writes nothing", async () => {
  await konnector[Symbol.asyncDispose]();
  const [version] = recordsAt(apiServiceBindingCrd.spec, "versions");
  const versions = [
    { ...version, served: false, storage: false },
    { ...version, name: "v1beta1" },
  ];
  const { name } = apiServiceBindingCrd.metadata;
  await consumer.client.mergePatch(customResourceDefinitions, { name }, { spec: { versions } });
  const lines: string[] = [];
  const logger = createLogger({ name: "older", write: (line) => void lines.push(line) });
  await using older = await startKonnector(fixture, { identity: "older", logger });
  const words =
    /apiservicebindings\.\S+ serves v1beta1, and this konnector knows v1alpha1 only, because it is older than/;
  await waitFor("the refusal", () => lines.some((line) => words.test(line)));
  assert.deepEqual(older.writes, []);
});
