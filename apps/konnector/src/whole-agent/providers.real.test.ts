/** The konnector between real API servers: several providers, one cluster bound twice, a provider that cannot be reached for a while. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AnsweredPermissionClaim,
  apiServiceBindings,
  consumerNamespace,
  unreachableSinceAnnotation,
} from "@klutch/api";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  events,
  findCondition,
  isTrue,
  type KubeObject,
  secrets,
} from "@klutch/kube-core";
import { secretObject, TcpProxy, waitFor } from "@klutch/kube-testing";
import { providerSecret, putKubeconfig } from "../testing/credentials.ts";
import { serviceNamespace } from "../testing/pair.ts";
import { exportCrd, installCrd, prepareTenant, providerSecrets } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";

const other = "cluster-other";
const widgets = testApi("widgets", "Widget");
const gadgets = testApi("gadgets", "Gadget");
const fields = testApi("fields", "Field");
const claim: AnsweredPermissionClaim = { ...providerSecrets, state: "Accepted" };
const fixture = await startTenantFixture({
  exported: [{ ...widgets, claims: [providerSecrets] }],
  open: ["fields"],
});
const { consumer, provider, cleanup, onProvider, onConsumer } = fixture;
const { binding, untilReady, untilReason, create, createSynced } = fixture;
const gate = cleanup.use(await TcpProxy.start(provider.url));
const gated = fixture.kubeconfig.replace(provider.url, gate.url);
// The agent brings the provider's own copy over.
await putKubeconfig(provider, providerSecret, gated);
await installCrd(provider, gadgets.crd);
const second = await prepareTenant(provider, ["gadgets", "widgets"], other);
await exportCrd(provider, gadgets.crd, {}, [providerSecrets], other);
await exportCrd(provider, widgets.crd, {}, [], other);
cleanup.use(await startKonnector(fixture, { timing: { unreachableAfterMs: 500 } }));

test("two providers serve different APIs of one cluster side by side", async () => {
  await bindApi(fixture, widgets.name, gated, [claim]);
  await bindApi(fixture, gadgets.name, second, [claim], "kubeconfig-other");
  for (const { name } of [widgets, gadgets]) await untilReady(name);
  await create(widgets.type, widget(widgets.type, "one", { of: "first" }));
  await create(gadgets.type, widget(gadgets.type, "one", { of: "second" }));
  await waitFor("the first", () => onProvider(widgets.type, "one"));
  const ref = { namespace: `${other}-app`, name: "one" };
  await waitFor("the second", () => provider.client.find(gadgets.type, ref));
});

test("Secrets of the same name from two providers: the first one stays, the other is told", async () => {
  await provider.client.create(secrets, secretObject(serviceNamespace, "creds", { from: "first" }));
  await waitFor("the copy", () => onConsumer(secrets, "creds"));
  await provider.client.create(secrets, secretObject(`${other}-app`, "creds", { from: "second" }));
  await waitFor("the conflict to be told", async () => {
    const found = await consumer.client.list<DynamicObject>(events, { namespace: "app" });
    return found.items.some((event) => event["reason"] === "NameTaken");
  });
  const data = (await onConsumer(secrets, "creds"))?.["data"];
  assert.deepEqual(data, { from: Buffer.from("first").toString("base64") });
});

test("the same API bound again by another provider is refused, and the first binding works on", async () => {
  await consumer.client.create<KubeObject>(apiServiceBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { namespace: "app", name: widgets.name },
    spec: {
      kubeconfigSecretRef: { namespace: consumerNamespace, name: "kubeconfig-other", key: "kubeconfig" },
    },
  });
  const refused = await waitFor("the refusal", async () => {
    const found = await consumer.client.get<DynamicObject>(apiServiceBindings, {
      namespace: "app",
      name: widgets.name,
    });
    const connected = findCondition(conditionsOf(found), "Connected");
    return connected?.reason === "ForeignCustomResourceDefinition" ? connected : undefined;
  });
  assert.match(refused.message ?? "", /belongs to APIServiceBinding widgets/);
  await createSynced(widgets.type, "two");
  assert.equal(
    await provider.client.find(widgets.type, { namespace: `${other}-app`, name: "two" }),
    undefined,
  );
});

test("a provider that cannot be reached: since when is told, edits are kept and arrive afterwards", async () => {
  await gate.shut();
  await consumer.client.mergePatch(
    widgets.type,
    { namespace: "app", name: "one" },
    { spec: { edited: true } },
  );
  await create(widgets.type, widget(widgets.type, "meanwhile", {}));
  const message = await untilReason(widgets.name, "Heartbeating", "ProviderUnreachable");
  assert.match(message, /has not been reached since \d{4}-.*; \d+ changes wait/);
  await waitFor(
    "the annotation",
    async () => (await binding(widgets.name))?.metadata.annotations?.[unreachableSinceAnnotation],
  );
  await waitFor("the claim to be told", async () => {
    const found = await consumer.client.list<DynamicObject>(events, { namespace: "app" });
    return found.items.some((event) => event["reason"] === "WaitingForConnection");
  });
  assert.equal((await onConsumer(widgets.type, "one"))?.status, undefined);
  await create(gadgets.type, widget(gadgets.type, "unhurt", {}));
  await waitFor("the other provider's API to work on", () =>
    provider.client.find(gadgets.type, { namespace: `${other}-app`, name: "unhurt" }),
  );
  await gate.open();
  await waitFor("the edit", async () => {
    const found = await onProvider(widgets.type, "one");
    return (found?.["spec"] as { edited?: boolean } | undefined)?.edited;
  });
  await waitFor("what was made meanwhile", () => onProvider(widgets.type, "meanwhile"));
  await waitFor(
    "the annotation to go",
    async () =>
      (await binding(widgets.name))?.metadata.annotations?.[unreachableSinceAnnotation] === undefined,
  );
});

test("versions, scale, columns, deprecation and selectable fields reach the app cluster's CRD", async () => {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const spec = { type: "object", properties: { replicas: { type: "integer" }, color: { type: "string" } } };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec, status: open } } };
  const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
  const version = (name: string, storage: boolean, more: object): object => ({
    name,
    served: true,
    storage,
    schema,
    subresources: { status: {}, scale },
    ...more,
  });
  const crd = {
    ...fields.crd,
    spec: {
      ...(fields.crd.spec as object),
      versions: [
        version("v1", true, {
          additionalPrinterColumns: [{ name: "Color", type: "string", jsonPath: ".spec.color" }],
          selectableFields: [{ jsonPath: ".spec.color" }],
        }),
        version("v1alpha1", false, {
          deprecated: true,
          deprecationWarning: "use v1",
          // Versions with equal schemas must have equal selectable fields.
          schema: { openAPIV3Schema: { ...schema.openAPIV3Schema, description: "old" } },
        }),
      ],
    },
  };
  await installCrd(provider, crd);
  await exportCrd(provider, crd);
  await bindApi(fixture, fields.name, gated);
  await untilReady(fields.name);
  const found = await consumer.client.get<DynamicObject>(customResourceDefinitions, { name: fields.name });
  assert.ok(isTrue(conditionsOf(found), "Established"));
  const [v1, old] = (found.spec as { versions: Record<string, unknown>[] }).versions;
  assert.deepEqual(v1?.["selectableFields"], [{ jsonPath: ".spec.color" }]);
  assert.deepEqual(v1["subresources"], { status: {}, scale });
  assert.equal(old?.["deprecationWarning"], "use v1");
  await create(fields.type, widget(fields.type, "one", { replicas: 1, color: "red" }));
  await create(fields.type, widget(fields.type, "two", { replicas: 1, color: "blue" }));
  const red = await consumer.client.list(fields.type, { fieldSelector: "spec.color=red" });
  assert.deepEqual(
    red.items.map(({ metadata }) => metadata.name),
    ["one"],
  );
  await waitFor("it on the provider", () => onProvider(fields.type, "one"));
  const path = `/apis/${fields.type.group}/v1/namespaces/app/fields/one/scale`;
  await consumer.client.request({
    method: "PATCH",
    path,
    body: { spec: { replicas: 4 } },
    contentType: "application/merge-patch+json",
  });
  await waitFor("the new scale on the provider", async () => {
    const up = await onProvider(fields.type, "one");
    return (up?.["spec"] as { replicas?: number } | undefined)?.replicas === 4;
  });
});
