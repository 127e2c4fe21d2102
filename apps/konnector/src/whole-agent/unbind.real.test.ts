/** The konnector between two real API servers: unbinding, binding again, held deletions, schema changes, other providers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  apiServiceBindings,
  apiServiceExports,
  boundAnnotation,
  consumerNamespace,
  providerUidAnnotation,
  releaseDeletionsAnnotation,
  releaseSchemaAnnotation,
  syncerFinalizer,
  unbindFinalizer,
  unbindPolicyAnnotation,
} from "@klutch/api";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  namespaces,
} from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { serviceNamespace } from "../testing/pair.ts";
import { tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { bindApi, type RunningKonnector, startKonnector, testApi, widget } from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
const gadgets = testApi("gadgets", "Gadget");
const things = testApi("things", "Thing");
const apis = [widgets, gadgets, things];
const fixture = await startTenantFixture({ exported: apis });
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer } = fixture;
const { binding, untilReady, untilReason, create, createSynced } = fixture;
const timing = { massDeletionLimit: 3, heldSchemaMs: 500 };
let konnector: RunningKonnector = cleanup.use(await startKonnector(fixture, { timing }));

const ref = (name: string): { namespace: string; name: string } => ({ namespace: consumerNamespace, name });
const annotate = async (name: string, annotations: Readonly<Record<string, string>>): Promise<void> => {
  await consumer.client.mergePatch(apiServiceBindings, ref(name), { metadata: { annotations } });
};
const unbind = async (name: string, policy?: string): Promise<void> => {
  if (policy !== undefined) await annotate(name, { [unbindPolicyAnnotation]: policy });
  await consumer.client.delete(apiServiceBindings, ref(name));
  await waitFor(`${name} to be unbound`, async () => (await binding(name)) === undefined);
};

test("a binding pins its provider and does not go before it is unbound", async () => {
  for (const { name } of apis) await bindApi(fixture, name, kubeconfig);
  for (const { name } of apis) await untilReady(name);
  const bound = await binding(widgets.name);
  assert.deepEqual(bound?.metadata.finalizers, [unbindFinalizer]);
  const { uid } = (await provider.client.get(namespaces, { name: tenantNamespace })).metadata;
  assert.match(bound.metadata.annotations?.[providerUidAnnotation] ?? "", new RegExp(`^namespace=${uid}`));
});

test("unbinding orphans by default: claims become plain objects, upstream ones stay without our mark", async () => {
  for (const name of ["one", "two"]) await create(widgets.type, widget(widgets.type, name, { size: 1 }));
  await waitFor(
    "both on the provider",
    async () => (await onProvider(widgets.type, "one")) && (await onProvider(widgets.type, "two")),
  );
  await unbind(widgets.name);
  const claim = await onConsumer(widgets.type, "one");
  assert.equal(claim?.metadata.finalizers, undefined);
  assert.equal(claim?.metadata.annotations?.[boundAnnotation], undefined);
  const upstream = await onProvider(widgets.type, "one");
  assert.equal(upstream?.metadata.annotations?.[boundAnnotation], undefined);
  assert.deepEqual(upstream?.["spec"], { size: 1 });
  await consumer.client.delete(widgets.type, { namespace: "app", name: "two" });
  assert.equal(await onConsumer(widgets.type, "two"), undefined);
});

test("binding again takes over what was left, and adopts what was deleted in the app cluster meanwhile", async () => {
  const { uid } = (await onProvider(widgets.type, "one"))?.metadata ?? {};
  await bindApi(fixture, widgets.name, kubeconfig);
  await untilReady(widgets.name);
  await waitFor("the claim to be taken over", async () =>
    (await onConsumer(widgets.type, "one"))?.metadata.finalizers?.includes(syncerFinalizer),
  );
  await waitFor("the mark on the provider", async () => {
    const found = await onProvider(widgets.type, "one");
    return found?.metadata.annotations?.[boundAnnotation] === "true" && found.metadata.uid === uid;
  });
  const adopted = await waitFor("the other to be adopted", () => onConsumer(widgets.type, "two"));
  assert.deepEqual(adopted["spec"], { size: 1 });
  await waitFor("its mark on the provider", async () => {
    const { annotations } = (await onProvider(widgets.type, "two"))?.metadata ?? {};
    return annotations?.[boundAnnotation] === "true";
  });
});

test("unbinding with policy Delete deletes claims and upstream objects, and nothing stays undeletable", async () => {
  await unbind(widgets.name, "Delete");
  for (const name of ["one", "two"]) {
    assert.equal(await onConsumer(widgets.type, name), undefined);
    assert.equal(await onProvider(widgets.type, name), undefined);
  }
  await consumer.client.delete(customResourceDefinitions, { name: widgets.name });
  await waitFor(
    "the CRD to be gone",
    async () => (await consumer.client.find(customResourceDefinitions, { name: widgets.name })) === undefined,
  );
});

test("mass deletion: most claims at once are held, also over a restart, until they are released", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  for (const name of names) await create(gadgets.type, widget(gadgets.type, name, { size: 1 }));
  for (const name of names) await waitFor(`${name} on the provider`, () => onProvider(gadgets.type, name));
  for (const name of names) await consumer.client.delete(gadgets.type, { namespace: "app", name });
  const message = await untilReason(gadgets.name, "DeletionHeld", "MassDeletion");
  assert.match(message, /^6 of 6 claims were deleted within a minute/);
  assert.equal(findCondition(conditionsOf(await binding(gadgets.name)), "Ready")?.status, "False");
  const left = async (): Promise<string[]> => {
    const found = await Promise.all(
      names.map(async (name) => ({ name, object: await onProvider(gadgets.type, name) })),
    );
    return found.filter(({ object }) => object !== undefined).map(({ name }) => name);
  };
  const held = await left();
  assert.deepEqual(held, names, "an object was deleted before the hold");
  await konnector[Symbol.asyncDispose]();
  konnector = cleanup.use(await startKonnector(fixture, { identity: "second", timing }));
  await waitFor("the caches", async () => (await fetch(`http://127.0.0.1:${konnector.probePort}/readyz`)).ok);
  await createSynced(things.type, "marker");
  assert.deepEqual(await left(), held);
  await annotate(gadgets.name, { [releaseDeletionsAnnotation]: new Date().toISOString() });
  await waitFor("the rest to be deleted", async () => (await left()).length === 0);
  await untilReady(gadgets.name);
});

test("deleting the CRD in the app cluster deletes nothing on the provider; unbinding and binding again brings all back", async () => {
  await createSynced(things.type, "precious", { size: 7 });
  await consumer.client.delete(customResourceDefinitions, { name: things.name });
  const message = await untilReason(things.name, "DeletionHeld", "MassDeletion");
  assert.match(message, /CustomResourceDefinition things\.test\.klutch\.example is being deleted/);
  await unbind(things.name);
  await waitFor(
    "the CRD to be gone",
    async () => (await consumer.client.find(customResourceDefinitions, { name: things.name })) === undefined,
  );
  assert.deepEqual((await onProvider(things.type, "precious"))?.["spec"], { size: 7 });
  await bindApi(fixture, things.name, kubeconfig);
  await untilReady(things.name);
  const back = await waitFor("it to be back", () => onConsumer(things.type, "precious"));
  assert.deepEqual(back["spec"], { size: 7 });
});

interface SpecSchema {
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

/** Gives the export of things another schema for `spec`. */
async function changeSchema(spec: SpecSchema): Promise<void> {
  const key = { namespace: tenantNamespace, name: things.name };
  const exported = await provider.client.get<DynamicObject>(apiServiceExports, key);
  const [version] = (exported.spec as { versions: readonly object[] }).versions;
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: { type: "object", ...spec },
        status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
  };
  await provider.client.mergePatch(apiServiceExports, key, { spec: { versions: [{ ...version, schema }] } });
}

const crdSpec = async (): Promise<string> =>
  JSON.stringify(
    (await consumer.client.get<DynamicObject>(customResourceDefinitions, { name: things.name })).spec,
  );

test("a schema that fits all existing objects is rolled out at once, without stopping the sync", async () => {
  // The API server ends the watches of the changed resource itself.
  const ofOthers = (): number => konnector.watches.filter((watch) => !watch.endsWith(" things")).length;
  const watches = ofOthers();
  await changeSchema({ properties: { size: { type: "integer", maximum: 9 }, color: { type: "string" } } });
  await waitFor("the new schema", async () => (await crdSpec()).includes('"color"'));
  await untilReady(things.name);
  await create(things.type, widget(things.type, "after", { size: 1, color: "red" }));
  await waitFor(
    "an object with the new field",
    async () => (await onProvider(things.type, "after"))?.["spec"] !== undefined,
  );
  assert.equal(ofOthers(), watches);
});

test("a schema that an existing object does not fit is held, with object and field, until it is released", async () => {
  await changeSchema({ properties: { size: { type: "integer", maximum: 5 } } });
  const message = await untilReason(things.name, "SchemaInSync", "BreakingSchemaChange");
  assert.match(message, /does not fit 2 of \d existing objects/);
  assert.match(message, /app\/precious \(spec\.size: is 7, expected maximum 5\)/);
  assert.match(message, /app\/after \(spec\.color: would be lost\)/);
  assert.ok((await crdSpec()).includes('"color"'));
  await consumer.client.mergePatch(
    things.type,
    { namespace: "app", name: "precious" },
    { spec: { size: 8 } },
  );
  await waitFor("the sync to go on meanwhile", async () => {
    const found = await onProvider(things.type, "precious");
    return (found?.["spec"] as { size?: number } | undefined)?.size === 8;
  });
  const hash = /\(release with hash (\S+)\)$/.exec(message)?.[1] ?? "";
  await annotate(things.name, { [releaseSchemaAnnotation]: hash });
  await waitFor("the new schema", async () => !(await crdSpec()).includes('"color"'));
  await untilReady(things.name);
});

test("a held schema is rolled out by itself once the objects that it does not fit are gone", async () => {
  const taking = (...kinds: readonly string[]): Promise<void> =>
    changeSchema({ properties: { size: { type: "integer" }, kind: { type: "string", enum: kinds } } });
  await taking("new", "old");
  await waitFor("the kinds", async () => (await crdSpec()).includes('"old"'));
  await createSynced(things.type, "former", { size: 1, kind: "old" });
  await taking("new");
  const message = await untilReason(things.name, "SchemaInSync", "BreakingSchemaChange");
  assert.match(message, /app\/former \(spec\.kind: is "old", expected one of "new"\)/);
  assert.deepEqual((await onConsumer(things.type, "former"))?.["spec"], { size: 1, kind: "old" });
  await consumer.client.delete(things.type, { namespace: "app", name: "former" });
  await waitFor("the narrower schema", async () => !(await crdSpec()).includes('"old"'));
  await untilReady(things.name);
});

test("a provider that is not the pinned one is refused, and nothing is written", async () => {
  await konnector[Symbol.asyncDispose]();
  await annotate(things.name, { [providerUidAnnotation]: "namespace=of-another-cluster" });
  konnector = cleanup.use(await startKonnector(fixture, { identity: "third", timing }));
  const message = await untilReason(things.name, "Connected", "WrongProvider");
  assert.match(message, /was made with of-another-cluster: nothing is synced/);
  assert.deepEqual(
    konnector.writes.filter((write) => write.startsWith("provider")),
    [],
  );
});

test("Abandon lets go of the claims without the provider", async () => {
  await unbind(things.name, "Abandon");
  const claim = await onConsumer(things.type, "precious");
  assert.equal(claim?.metadata.finalizers, undefined);
  await consumer.client.delete(things.type, { namespace: "app", name: "precious" });
  assert.equal(await onConsumer(things.type, "precious"), undefined);
  assert.ok(await provider.client.find(things.type, { namespace: serviceNamespace, name: "precious" }));
});
