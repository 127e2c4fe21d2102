/** The konnector between two real API servers, with a provider that changes what its exports stand for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  boundAnnotation,
  clusterBindings,
  type PermissionClaim,
  resourceOwnerAnnotation,
  syncerFinalizer,
} from "@klutch/api";
import { customResourceDefinitions, type DynamicObject, namespaces, secrets } from "@klutch/kube-core";
import { anyObject, secretObject, startKubectl, waitFor } from "@klutch/kube-testing";
import { serveAggregated } from "../testing/aggregated.ts";
import { dropExportRules, rewriteExport } from "../testing/hostile-provider.ts";
import { exportCrd, installCrd, tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");
const gadgets = testApi("gadgets", "Gadget");
const asked: PermissionClaim = {
  group: "",
  resource: "secrets",
  version: "v1",
  selector: { owner: "Provider", names: ["*"], namespaces: ["app"] },
};
const fixture = await startTenantFixture({ installed: [widgets, gadgets], clusterWide: true });
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer } = fixture;
const { binding, untilReady, untilReason, createSynced } = fixture;
await dropExportRules(provider);
await exportCrd(provider, widgets.crd, {}, [asked]);
await exportCrd(provider, gadgets.crd);
const konnector = cleanup.use(await startKonnector(fixture));

/** Something of the other API goes all the way: whatever the session had to do before it, it has looked at. */
let rounds = 0;
const wholeWay = (): Promise<unknown> => createSynced(gadgets.type, `round-${++rounds}`);

test("an export rewritten to core Secrets is refused: no Secret goes up, none comes down", async () => {
  await bindApi(fixture, widgets.name, kubeconfig, [{ ...asked, state: "Accepted" }]);
  await bindApi(fixture, gadgets.name, kubeconfig);
  for (const { name } of [widgets, gadgets]) await untilReady(name);
  await createSynced(widgets.type, "one", { size: 1 });
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await consumer.client.create(secrets, secretObject("kube-system", "canary", { token: "consumer" }));
  const token = {
    ...secretObject(tenantNamespace, "bootstrap-token-abcdef", {}),
    type: "bootstrap.kubernetes.io/token",
  };
  const asMapped = { namespace: `${tenantNamespace}-kube-system` };
  await provider.client.create(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: asMapped.namespace },
  });
  await provider.client.create(secrets, { ...token, metadata: { ...token.metadata, ...asMapped } });
  await rewriteExport(provider, widgets.name, {
    spec: {
      group: "",
      names: { plural: "secrets", singular: "secret", kind: "Secret", listKind: "SecretList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          // Breaking, so that the CRD is held as it is.
          schema: { openAPIV3Schema: { type: "object", properties: { data: open } } },
        },
      ],
    },
  });
  const outcome = await waitFor("the refusal, or a Secret that should not be there", async () => {
    const up = await provider.client.find(secrets, { ...asMapped, name: "canary" });
    if (up !== undefined) return "Secret kube-system/canary of the app cluster is on the provider";
    const down = await consumer.client.find(secrets, {
      namespace: "kube-system",
      name: token.metadata.name ?? "",
    });
    if (down !== undefined) return "a bootstrap token of the provider is in the app cluster";
    const mark = (await consumer.client.get(secrets, { namespace: "kube-system", name: "canary" })).metadata;
    if (mark.finalizers !== undefined || mark.annotations?.[boundAnnotation] !== undefined)
      return "Secret kube-system/canary is marked as synced";
    const conditions = JSON.stringify((await binding(widgets.name))?.status);
    return conditions.includes("APIServiceExportInvalid") ? "refused" : undefined;
  });
  assert.equal(outcome, "refused");
  const message = await untilReason(widgets.name, "Connected", "APIServiceExportInvalid");
  assert.match(message, /spec\.group.*""/);
  await wholeWay();
  const own = await consumer.client.list<DynamicObject>(secrets);
  for (const { metadata } of own.items) {
    assert.equal(metadata.finalizers?.includes(syncerFinalizer), undefined);
    assert.equal(metadata.annotations?.[resourceOwnerAnnotation], undefined);
  }
  assert.ok(own.items.every(({ metadata }) => metadata.name !== "bootstrap-token-abcdef"));
  assert.equal(await provider.client.find(secrets, { ...asMapped, name: "canary" }), undefined);
});

test("an export in disorder is told in the binding, whatever is wrong, and other APIs work on", async () => {
  const { spec } = widgets.crd;
  const disorder: readonly (readonly [unknown, RegExp])[] = [
    ["text", /spec: is "text", expected an object/],
    [{ group: 7 }, /spec\.group: is 7, expected a string/],
    [{ names: { plural: ["widgets"] } }, /spec\.names\.plural/],
    [{ versions: [null] }, /spec\.versions\[0\]: is null/],
    [{ versions: { name: "v1" } }, /spec\.versions: is \{"name":"v1"/],
    [{ permissionClaims: [{ resource: "*", version: "v1" }] }, /spec\.permissionClaims\[0\]\.resource/],
    [{ informerScope: 1 }, /spec\.informerScope/],
    [{ names: { kind: "Wid\nget" } }, /spec\.names\.kind/],
  ];
  for (const [change, why] of disorder) {
    await rewriteExport(provider, widgets.name, { spec: change });
    await waitFor(`${why}`, async () =>
      why.test(await untilReason(widgets.name, "Connected", "APIServiceExportInvalid")),
    );
    await wholeWay();
    await rewriteExport(provider, widgets.name, { spec: null });
    await rewriteExport(provider, widgets.name, {
      spec: { ...(spec as object), informerScope: "Namespaced", permissionClaims: [asked] },
    });
    await untilReady(widgets.name);
  }
});

test("an API that the app cluster serves by an aggregated server is left to that server", async () => {
  const parts = testApi("parts", "Part");
  const group = "aggregated.klutch.example";
  const crd = {
    ...parts.crd,
    metadata: { name: `parts.${group}` },
    spec: { ...(parts.crd.spec as object), group },
  };
  await using aggregated = await serveAggregated(consumer, { group, plural: "parts", kind: "Part" });
  await installCrd(provider, crd);
  await exportCrd(provider, crd);
  await bindApi(fixture, `parts.${group}`, kubeconfig);
  const message = await untilReason(`parts.${group}`, "Connected", "ResourceServedElsewhere");
  assert.match(message, /serves parts of aggregated\.klutch\.example\/v1 already/);
  await wholeWay();
  assert.equal(await consumer.client.find(customResourceDefinitions, { name: `parts.${group}` }), undefined);
  assert.deepEqual(
    aggregated.requests.filter((path) => path.includes("parts")),
    [],
  );
});

test("when the export is as it was, the API works on by itself", async () => {
  const { crd } = widgets;
  const { group, names, versions } = crd.spec as { group: string; names: object; versions: object[] };
  await rewriteExport(provider, widgets.name, { spec: { group, names, versions } });
  await untilReady(widgets.name);
  await createSynced(widgets.type, "two", { size: 1 });
});

for (const [what, change] of [
  ["kind", { names: { kind: "Pod", listKind: "PodList", singular: "pod" } }],
  ["scope", { scope: "Cluster", informerScope: "Cluster", clusterScopedIsolation: "None" }],
] as const) {
  test(`an API's ${what} never changes after binding: the syncer stops and nothing is written`, async () => {
    await untilReady(widgets.name);
    const known = await provider.client.get<DynamicObject>(
      { ...widgets.type, group: "klutch.anynines.com", version: "v1alpha1", plural: "apiserviceexports" },
      { namespace: tenantNamespace, name: widgets.name },
    );
    await rewriteExport(provider, widgets.name, { spec: change });
    const message = await untilReason(widgets.name, "Connected", "APIServiceExportIdentityChanged");
    assert.match(message, new RegExp(`${what}`));
    const before = await onProvider(widgets.type, "two");
    const size = what.length + 10;
    await consumer.client.mergePatch(widgets.type, { namespace: "app", name: "two" }, { spec: { size } });
    await provider.client.mergePatch(
      widgets.type,
      { namespace: before?.metadata.namespace ?? "", name: "two" },
      { status: { said: what } },
      { subresource: "status" },
    );
    const writes = konnector.writes.length;
    await wholeWay();
    assert.deepEqual((await onProvider(widgets.type, "two"))?.spec, before?.spec);
    assert.notDeepEqual((await onConsumer(widgets.type, "two"))?.status, { said: what });
    const ofWidgets = konnector.writes.slice(writes).filter((write) => write.endsWith("widgets"));
    assert.deepEqual(ofWidgets, []);
    const removed = { clusterScopedIsolation: null, informerScope: "Namespaced" };
    await rewriteExport(provider, widgets.name, { spec: { ...removed, ...(known.spec as object) } });
    await untilReady(widgets.name);
    await waitFor("the edit on the provider", async () => {
      const found = await onProvider(widgets.type, "two");
      return (found?.spec as { size?: number } | undefined)?.size === size;
    });
  });
}

test("a pattern that takes other engines for ever holds no one up: its claims are judged and others go on", async () => {
  await createSynced(widgets.type, "victim", { name: `${"a".repeat(60)}!` });
  const { names, group, versions } = widgets.crd.spec as { names: object; group: string; versions: object[] };
  const pattern = { type: "object", properties: { name: { type: "string", pattern: "^(a+)+$" } } };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: pattern } } };
  const changed = versions.map((version) => ({ ...version, schema }));
  await rewriteExport(provider, widgets.name, { spec: { names, group, versions: changed } });
  await wholeWay();
  const message = await untilReason(widgets.name, "SchemaInSync", "BreakingSchemaChange");
  assert.match(message, /app\/victim \(spec\.name: is .* expected a string that matches \^\(a\+\)\+\$/);
});

test("what the provider calls itself and its things stands in a binding's status as one short line of plain text", async () => {
  const steering = /[\p{Cc}\p{Cf}]/u;
  const ref = { namespace: tenantNamespace, name: "cluster" };
  const prettyName = `Evil\u001b[2J\n\u202e${"x".repeat(10_000)}`;
  await provider.client.mergePatch(clusterBindings, ref, { spec: { providerPrettyName: prettyName } });
  await rewriteExport(provider, gadgets.name, { spec: { names: { kind: "Gad\u202eget\u2066" } } });
  const name = await waitFor("the name", async () => {
    const { status } = (await binding(gadgets.name)) ?? {};
    const { providerPrettyName = "" } = status as { providerPrettyName?: string };
    return providerPrettyName.startsWith("Evil") ? providerPrettyName : undefined;
  });
  assert.doesNotMatch(name, steering);
  assert.equal(name.length, 128);
  const message = await untilReason(gadgets.name, "Connected", "APIServiceExportInvalid");
  assert.match(message, /spec\.names\.kind: is "Gad get/);
  assert.doesNotMatch(message, steering);
});

test("a schema of the provider steers no developer's terminal: its sentences are cleaned, and bad names are refused", async () => {
  const kubectl = await startKubectl(cleanup, consumer);
  const evil = "Pay\u001b[2J\u202e me";
  const rule = { rule: "self.size < 9", message: evil, messageExpression: String.raw`'\u001b[31m' + 'red'` };
  const size = { type: "integer", description: `${evil}\nhere` };
  const specOf = (more: object): object => ({
    type: "object",
    description: evil,
    properties: { size, ...more },
    "x-kubernetes-validations": [rule],
  });
  const tools = testApi("tools", "Tool");
  const spec = tools.crd.spec as { versions: object[] };
  const schemaOf = (more: object): object => {
    const root = { type: "object", description: evil, properties: { spec: specOf(more), status: anyObject } };
    return { versions: spec.versions.map((version) => ({ ...version, schema: { openAPIV3Schema: root } })) };
  };
  await installCrd(provider, tools.crd);
  await exportCrd(provider, { ...tools.crd, spec: { ...spec, ...schemaOf({}) } });
  await bindApi(fixture, tools.name, kubeconfig);
  await untilReady(tools.name);
  const explained = await waitFor("the API to be explained", () =>
    kubectl("explain", "tools", "--recursive"),
  );
  const tooLarge = widget(tools.type, "one", { size: 10 });
  const refused = await consumer.client.create(tools.type, tooLarge).then(() => "taken", String);
  for (const output of [explained, refused]) {
    assert.match(output, /Pay +\[2J +me/);
    assert.doesNotMatch(output, /[[\p{Cc}\p{Cf}]--[\t\n]]/v);
  }
  await rewriteExport(provider, tools.name, { spec: schemaOf({ "b\u001b[7m": size }) });
  const message = await untilReason(tools.name, "Connected", "APIServiceExportInvalid");
  assert.match(
    message,
    /versions\[0\]\.schema\.openAPIV3Schema\.properties\.spec\.properties: has control characters in "b\\u001b\[7m"/,
  );
});
