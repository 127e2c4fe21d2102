/** The chart's FlowSchema on a real API server: it counts the control plane's programs apart from app clusters. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTransport, systemClock } from "@klutch/kube";
import { type DynamicObject, namespaces, type ObjectRef, serviceAccounts } from "@klutch/kube-core";
import {
  accountConfig,
  leaseCluster,
  namespaceObject,
  objectOfType,
  serviceAccountObject,
  waitFor,
} from "@klutch/kube-testing";
import { chartPath, objectOf, startHelm } from "./testing/helm.ts";
import { atHome, variants } from "./testing/values.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "priority" }));
const helm = stack.use(await startHelm());
const flowSchemas = {
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  plural: "flowschemas",
  kind: "FlowSchema",
  namespaced: false,
} as const;

/** Returns the UID of the FlowSchema under which the API server counts requests of an account. */
async function schemaOf(account: ObjectRef): Promise<string> {
  const transport = createTransport(await accountConfig(cluster, account), {
    userAgent: "test",
    clock: systemClock,
  });
  try {
    const response = await transport.send({ method: "GET", path: "/api/v1/namespaces?limit=1" });
    await response.discard();
    return String(response.headers["x-kubernetes-pf-flowschema-uid"]);
  } finally {
    await transport.close();
  }
}

test("programs of the control plane have seats of their own, and app clusters stay in Kubernetes' fair queues", async () => {
  const { client } = cluster;
  const accounts = {
    backend: { namespace: "klutch-backend", name: "klutch-backend" },
    gateway: { namespace: "klutch-backend", name: "klutch-gateway" },
    provider: { namespace: "crossplane-system", name: "provider-anynines" },
    tenant: { namespace: "app-cluster", name: "binder" },
  };
  for (const namespace of new Set(Object.values(accounts).map(({ namespace }) => namespace)))
    await client.create(namespaces, namespaceObject(namespace));
  for (const account of Object.values(accounts))
    await client.create(serviceAccounts, serviceAccountObject(account));
  const rendered = await helm.template(chartPath("klutch"), variants.fleet, ...atHome.klutch);
  const { spec } = objectOf(rendered, "FlowSchema", "klutch-control-plane");
  const name = { name: "klutch-control-plane" };
  const made = await client.create<DynamicObject>(flowSchemas, objectOfType(flowSchemas, name, { spec }));
  const usual = await client.get<DynamicObject>(flowSchemas, { name: "service-accounts" });
  await waitFor("the schema to hold", async () => (await schemaOf(accounts.backend)) === made.metadata.uid);
  for (const account of [accounts.gateway, accounts.provider])
    assert.equal(await schemaOf(account), made.metadata.uid);
  assert.equal(await schemaOf(accounts.tenant), usual.metadata.uid);
});
