/** Tests service types on real API servers: the backend narrows a field in exports, and the app cluster's server names the allowed types. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceExport,
  apiServiceExportRequests,
  apiServiceExports,
  apiServiceExportTemplates,
  crdFromExport,
  serviceTypeFieldAnnotation,
  serviceTypeLabel,
} from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  type KubeObject,
  listAt,
  type ResourceType,
  valueAt,
} from "@klutch/kube-core";
import { crdObject, leaseCluster, waitFor } from "@klutch/kube-testing";
import { installProvider, templateObject } from "../testing/provider.ts";
import { startBackend } from "../testing/start-backend.ts";
import { createTenant, exportRequest } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const [cluster, appCluster] = await Promise.all([
  leaseCluster({ name: "service-types" }),
  leaseCluster({ name: "service-types-app" }),
]);
stack.use(cluster);
stack.use(appCluster);
const { client } = cluster;
const app = appCluster.client;

const bindings: ResourceType = {
  group: "example.org",
  version: "v1",
  plural: "bindings",
  kind: "Binding",
  namespaced: true,
};
const spec = {
  type: "object",
  properties: { serviceInstanceType: { type: "string", pattern: "^[a-z]+$", maxLength: 30 } },
};
await installProvider(client, [crdObject(bindings, { properties: { spec } })]);

const templates = { namespace: "default" };
function offering(type: string): DynamicObject {
  const { metadata, ...rest } = templateObject("example.org", `${type}instances`);
  return { ...rest, metadata: { ...metadata, labels: { [serviceTypeLabel]: type } } };
}
function naming(field: string): DynamicObject {
  const { metadata, ...rest } = templateObject("example.org", "bindings");
  return { ...rest, metadata: { ...metadata, annotations: { [serviceTypeFieldAnnotation]: field } } };
}
const second = offering("search");
const twice = { ...second, metadata: { ...second.metadata, name: "search-again" } };
for (const template of [
  offering("search"),
  twice,
  offering("postgresql"),
  naming("spec.serviceInstanceType"),
])
  await waitFor("templates to be served", () => client.create(apiServiceExportTemplates, template));

await startBackend(stack, cluster, { flags: ["--control-plane-mode"] });
await createTenant(client, "tenant");
await client.create(
  apiServiceExportRequests,
  exportRequest({ namespace: "tenant", name: "bindings" }, "bindings"),
);

const exported = (): Promise<APIServiceExport | undefined> =>
  client.find<APIServiceExport>(apiServiceExports, { namespace: "tenant", name: "bindings.example.org" });

/** Resolves to the export, once its field takes just these types. */
async function offered(...types: readonly string[]): Promise<APIServiceExport> {
  return waitFor(`the export to take ${types.join(", ")}`, async () => {
    const found = await exported();
    const [version] = listAt(found?.spec, "versions");
    const path = ["schema", "openAPIV3Schema", "properties", "spec", "properties", "serviceInstanceType"];
    const field = valueAt(version, ...path, "enum");
    return JSON.stringify(field) === JSON.stringify(types) ? found : undefined;
  });
}

/** Applies the export to the app cluster, as the agent does. */
async function follow(object: APIServiceExport): Promise<void> {
  const crd = crdFromExport(object.spec);
  await app.apply<KubeObject>(customResourceDefinitions, crd, { fieldManager: "test" });
  await waitFor("the kind", async () => (await app.list(bindings)) !== undefined);
}

const binding = (name: string, serviceInstanceType: string): DynamicObject => ({
  apiVersion: "example.org/v1",
  kind: "Binding",
  metadata: { namespace: "default", name, finalizers: ["example.org/kept"] },
  spec: { serviceInstanceType },
});

/** Resolves once an app cluster refuses the type with these words. */
async function refused(type: string, words: RegExp): Promise<void> {
  await waitFor(`${type} to be refused`, () =>
    app.create(bindings, binding("refused", type), { dryRun: true }).then(
      () => false,
      (error: unknown) => words.test(String(error)),
    ),
  );
}

test("an app cluster is offered the types of the templates, and is told them when it names another", async () => {
  await follow(await offered("postgresql", "search"));
  await refused(
    "mysql",
    /spec\.serviceInstanceType: Unsupported value: "mysql": supported values: "postgresql", "search"/,
  );
  await client.create(apiServiceExportTemplates, offering("mysql"));
  await follow(await offered("mysql", "postgresql", "search"));
  await waitFor("mysql to be taken", () => app.create(bindings, binding("old", "mysql")));
});

test("an object of a type whose template went stays readable and can be changed and deleted", async () => {
  await client.delete(apiServiceExportTemplates, { ...templates, name: "mysqlinstances" });
  await follow(await offered("postgresql", "search"));
  await refused("mysql", /supported values: "postgresql", "search"/);
  const ref = { namespace: "default", name: "old" };
  assert.equal(valueAt((await app.get<DynamicObject>(bindings, ref)).spec, "serviceInstanceType"), "mysql");
  await app.mergePatch(bindings, ref, { metadata: { labels: { seen: "true" } } });
  await app.delete(bindings, ref);
  await app.mergePatch(bindings, ref, { metadata: { finalizers: null } });
  await waitFor("it to be gone", async () => (await app.find(bindings, ref)) === undefined);
});

test("a template that names no field of the kind is reported, and what was exported stays", async () => {
  const before = await offered("postgresql", "search");
  await client.mergePatch(
    apiServiceExportTemplates,
    { ...templates, name: "bindings" },
    { metadata: { annotations: { [serviceTypeFieldAnnotation]: "spec.type" } } },
  );
  const message = await waitFor("the report", async () => {
    const condition = findCondition((await exported())?.status?.conditions, "ProviderInSync");
    return condition?.status === "False" ? condition.message : undefined;
  });
  assert.match(
    message,
    /^annotation klutch\.anynines\.com\/service-type-field of APIServiceExportTemplate default\/bindings is "spec\.type"; it must name a text field of bindings\.example\.org/,
  );
  assert.deepEqual((await exported())?.spec, before.spec);
});
