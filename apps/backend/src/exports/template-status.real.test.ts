/** The status of templates on a real API server: a mistake shows in `kubectl get`, and goes when it is corrected. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceExportTemplate,
  apiServiceExportRequests,
  apiServiceExportTemplates,
  bindCrds,
} from "@klutch/api";
import { customResourceDefinitions, type KubeObject, recordAt, recordsAt, textAt } from "@klutch/kube-core";
import { crdObject, leaseCluster, startKubectl, waitFor } from "@klutch/kube-testing";
import { confinedClient } from "../testing/confined.ts";
import { databases, installProvider, templateObject, offerDatabases } from "../testing/provider.ts";
import { loginFlags, startBackend } from "../testing/start-backend.ts";
import { conditionText, createTenant, exportRequest } from "../testing/tenants.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "template-status" }));
const { client } = cluster;
const confined = stack.use(await confinedClient(cluster));
await installProvider(client, [crdObject(databases)]);
await offerDatabases(client);
const flags = loginFlags("https://backend.example.org", Buffer.alloc(32, 5));
await startBackend(stack, cluster, { flags, client: confined });
const kubectl = await startKubectl(stack, cluster);

const templateOf = (name: string): Promise<APIServiceExportTemplate> =>
  client.get<APIServiceExportTemplate>(apiServiceExportTemplates, { namespace: "default", name });
const says = async (name: string, type: string): Promise<string> =>
  conditionText((await templateOf(name)).status?.conditions, type);

/** Waits until the row of `kubectl get` matches; gives back the whole table. */
function table(kind: string, row: RegExp): Promise<string> {
  return waitFor(`the row ${row.source}`, async () => {
    const text = await kubectl("get", kind, "-A");
    assert.match(text, row);
    return text;
  });
}

test("a good template shows its kind, that it is offered, and how many app clusters bound it", async () => {
  const text = await table("apiserviceexporttemplates", /databases +Database +True +True +0 /);
  assert.match(text, /^NAMESPACE +NAME +KIND +VALID +OFFERED +BOUND +MESSAGE +AGE/);
  for (const namespace of ["tenant-a", "tenant-b"]) {
    await createTenant(client, namespace, `${namespace}#abc123`);
    const request = exportRequest({ namespace, name: "databases" }, "databases", []);
    await client.create(apiServiceExportRequests, request);
  }
  await table("apiserviceexporttemplates", /databases +Database +True +True +2 /);
});

test("a template of a resource that does not exist says so, and is offered once the kind exists", async () => {
  await client.create(apiServiceExportTemplates, templateObject("example.org", "wodgets"));
  await table(
    "apiserviceexporttemplates",
    /wodgets +False +False +0 +CustomResourceDefinition wodgets\.example\.org does not exist.*databases/,
  );
  const wodgets = { ...databases, plural: "wodgets", kind: "Wodget" };
  await client.create<KubeObject>(customResourceDefinitions, crdObject(wodgets));
  await table("apiserviceexporttemplates", /wodgets +Wodget +True +True +0 /);
  await client.delete(customResourceDefinitions, { name: "wodgets.example.org" });
  await table("apiserviceexporttemplates", /wodgets +False +False +0 +CustomResourceDefinition/);
});

test("a second template of an API names the one that counts, until that one is gone", async () => {
  const second = templateObject("example.org", "databases");
  await client.create(apiServiceExportTemplates, {
    ...second,
    metadata: { namespace: "default", name: "second" },
  });
  await waitFor("the condition", async () =>
    /^False OtherTemplate .*default\/databases/.test(await says("second", "Offered")),
  );
  await client.delete(apiServiceExportTemplates, { namespace: "default", name: "databases" });
  await waitFor("the second to count", async () => (await says("second", "Offered")).startsWith("True"));
  await table("apiserviceexporttemplates", /second +Database +True +True +2 /);
});

test("kubectl get apiserviceexports shows whether an export is ready, and why not", async () => {
  const text = await table("apiserviceexports", /tenant-a +databases\.example\.org +(True|False)/);
  assert.match(text, /^NAMESPACE +NAME +READY +MESSAGE +AGE/);
  await client.delete(apiServiceExportTemplates, { namespace: "default", name: "second" });
  await table("apiserviceexports", /databases\.example\.org +False +No APIServiceExportTemplate selects/);
});

test("where the installed kind drops the status, as that of the Go system does, the backend goes on", async () => {
  const name = "apiserviceexporttemplates.example-backend.klutch.anynines.com";
  const own = bindCrds.find(({ metadata }) => metadata.name === name);
  const [version] = recordsAt(own?.spec, "versions");
  assert.ok(version !== undefined);
  const root = recordAt(version, "schema", "openAPIV3Schema");
  const properties = { ...recordAt(root, "properties"), status: { type: "object" } };
  const installed = [{ ...version, schema: { openAPIV3Schema: { ...root, properties } } }];
  await client.mergePatch(customResourceDefinitions, { name }, { spec: { versions: installed } });
  const ref = { namespace: "default", name: "wodgets" };
  const options = { subresource: "status", dryRun: true };
  await waitFor("the old kind", async () => {
    const patch = { status: { kind: "Probe" } };
    const probe = await client.mergePatch<KubeObject>(apiServiceExportTemplates, ref, patch, options);
    return textAt(probe.status, "kind") === undefined;
  });
  const gadgets = { ...databases, plural: "gadgets", kind: "Gadget" };
  await client.create(apiServiceExportTemplates, templateObject("example.org", "gadgets"));
  await client.create<KubeObject>(customResourceDefinitions, crdObject(gadgets));
  const versions: (string | undefined)[] = [];
  for (const namespace of ["tenant-a", "tenant-b"]) {
    const request = exportRequest({ namespace, name: "gadgets" }, "gadgets", []);
    await client.create(apiServiceExportRequests, request);
    await table("apiserviceexports", new RegExp(`${namespace} +gadgets\\.example\\.org +(True|False)`));
    versions.push((await templateOf("gadgets")).metadata.resourceVersion);
  }
  assert.equal(versions[0], versions[1], "a dropped status was written again and again");
});
