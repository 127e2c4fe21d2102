/** The konnector between two real API servers, while the provider's schema grows: nothing that is read through the older schema stays. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServiceExports, exportFromCrd } from "@klutch/api";
import { customResourceDefinitions, type DynamicObject, type KubeObject } from "@klutch/kube-core";
import { createKubeClient, isForbidden } from "@klutch/kube";
import { waitFor } from "@klutch/kube-testing";
import { serviceNamespace } from "../testing/pair.ts";
import { installCrd, tenantNamespace } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { agentConfig, bindApi, startKonnector, testApi } from "../testing/fixture.ts";

const widgets = testApi("widgets", "Widget");

/** The API with these fields in spec and status, and no others. */
function crdWith(fields: readonly string[]): KubeObject {
  const closed = {
    type: "object",
    properties: Object.fromEntries(fields.map((name) => [name, { type: "integer" }])),
  };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: closed, status: closed } } };
  const [version] = (widgets.crd.spec as { versions: object[] }).versions;
  return { ...widgets.crd, spec: { ...(widgets.crd.spec as object), versions: [{ ...version, schema }] } };
}

const first = ["size"];
const fixture = await startTenantFixture({ exported: [{ ...widgets, crd: crdWith(first) }] });
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer, untilReady, createSynced } = fixture;
cleanup.use(await startKonnector(fixture));

const numberIn = (part: unknown, field: string): unknown =>
  (part as Record<string, unknown> | undefined)?.[field];

/** The provider's API gets the fields, and so does its export. */
async function extend(fields: readonly string[]): Promise<void> {
  const crd = crdWith(fields);
  const { versions } = crd.spec as { versions: object[] };
  await provider.client.mergePatch(customResourceDefinitions, { name: widgets.name }, { spec: { versions } });
  const { spec } = exportFromCrd(crd);
  const ref = { namespace: tenantNamespace, name: widgets.name };
  await provider.client.mergePatch(apiServiceExports, ref, { spec: { versions: spec.versions } });
}

test("a field that is set as soon as the app cluster takes it arrives, and so does a new one of the status", async () => {
  await bindApi(fixture, widgets.name, kubeconfig);
  await untilReady(widgets.name);
  await createSynced(widgets.type, "one", { size: 1 });
  const fields = [...first];
  for (const field of ["color", "depth", "weight", "height"]) {
    fields.push(field);
    await extend(fields);
    const ref = { namespace: "app", name: "one" };
    // As a person who tries until it works; the server drops what it does not know yet.
    await waitFor(
      `${field} to be taken by the app cluster`,
      async () => {
        const kept = await consumer.client.mergePatch<DynamicObject>(widgets.type, ref, {
          spec: { [field]: 1 },
        });
        return numberIn(kept.spec, field) === 1;
      },
      { intervalMs: 1 },
    );
    await waitFor(
      `${field} on the provider`,
      async () => numberIn((await onProvider(widgets.type, "one"))?.spec, field) === 1,
    );
    const up = { namespace: serviceNamespace, name: "one" };
    await provider.client.mergePatch(widgets.type, up, { status: { [field]: 2 } }, { subresource: "status" });
    await waitFor(`${field} in the claim's status`, async () => {
      return numberIn((await onConsumer(widgets.type, "one"))?.status, field) === 2;
    });
  }
  assert.deepEqual(
    (await onProvider(widgets.type, "one"))?.spec,
    (await onConsumer(widgets.type, "one"))?.spec,
  );
});

test("the agent's account may change the CRDs of bound APIs, and no other", async () => {
  const gadgets = testApi("gadgets", "Gadget");
  await installCrd(consumer, gadgets.crd);
  await using agent = createKubeClient(await agentConfig(consumer));
  const label = (name: string): Promise<KubeObject> =>
    agent.mergePatch(customResourceDefinitions, { name }, { metadata: { labels: { touched: "true" } } });
  await label(widgets.name);
  await assert.rejects(label(gadgets.name), isForbidden);
});
