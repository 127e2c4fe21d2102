import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { isInvalid, parseYamlDocuments } from "@klutch/kube";
import {
  type Condition,
  customResourceDefinitions,
  type DynamicObject,
  findCondition,
  isTrue,
  type KubeObject,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import { startCluster, waitFor } from "@klutch/kube-testing";
import * as schema from "@klutch/schema";
import { bindCrds, providerCrds } from "./crds.ts";
import * as resources from "./resources.ts";
import { claimCrd } from "./testing/claim-crd.ts";
import { xrds } from "./xrds.ts";

const crdType = customResourceDefinitions;

const cluster = await startCluster({ name: "crds" });
after(() => cluster[Symbol.asyncDispose]());
const { client } = cluster;
await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });

test("a real API server establishes every CRD", async () => {
  const crds = [...bindCrds, ...providerCrds, ...xrds.map(claimCrd)];
  for (const crd of crds) await client.create<KubeObject>(crdType, crd);
  for (const { metadata } of crds) {
    await waitFor(`${metadata.name} to be established`, async () => {
      const { status } = await client.get<WithConditions>(crdType, { name: metadata.name });
      const { conditions = [] } = status ?? {};
      assert.equal(findCondition(conditions, "NonStructuralSchema"), undefined);
      return isTrue(conditions, "Established");
    });
  }
});

interface WithConditions extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined;
}

const object = (type: ResourceType, name: string, spec: unknown): DynamicObject => ({
  apiVersion: `${type.group}/${type.version}`,
  kind: type.kind,
  metadata: { name, ...(type.namespaced ? { namespace: "a" } : {}) },
  spec,
});

/** The first requests to fresh CRDs may still be answered with 404. */
async function create(type: ResourceType, value: DynamicObject): Promise<DynamicObject> {
  await waitFor(`${type.plural} to be served`, async () => (await client.list(type)) !== undefined);
  return client.create(type, value);
}

const kubeconfigSecretRef = { name: "s", key: "kubeconfig", namespace: "a" };

test("defaults of permission claims and request phases are filled in by the server", async () => {
  const binding = await create(
    resources.apiServiceBindings,
    object(resources.apiServiceBindings, "b.example.org", {
      kubeconfigSecretRef,
      permissionClaims: [{ resource: "secrets", version: "v1", state: "Accepted" }],
    }),
  );
  assert.deepEqual(binding.spec, {
    kubeconfigSecretRef,
    permissionClaims: [
      {
        group: "",
        resource: "secrets",
        version: "v1",
        state: "Accepted",
        selector: { names: ["*"], namespaces: ["*"] },
        read: {},
        onConflict: { recreateWhenConsumerSideDeleted: true },
      },
    ],
  });
  const type = resources.apiServiceExportRequests;
  const request = await create(
    type,
    object(type, "r", { resources: [{ resource: "dbs", group: "example.org" }] }),
  );
  assert.deepEqual(request.status, { phase: "Pending" });
});

const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } };
const exported = (spec: object): object => ({
  group: "example.org",
  names: { kind: "Db", plural: "dbs" },
  scope: "Namespaced",
  informerScope: "Namespaced",
  versions: [version],
  ...spec,
});
const refusals: readonly (readonly [string, ResourceType, string, unknown, RegExp])[] = [
  [
    "a ClusterBinding not called cluster",
    resources.clusterBindings,
    "other",
    { kubeconfigSecretRef: { name: "s", key: "kubeconfig" }, providerPrettyName: "p" },
    /name must be cluster/,
  ],
  ["an export with a wrong name", resources.apiServiceExports, "wrong", exported({}), /<plural>\.<group>/],
  [
    "a cluster-scoped export with namespaced informers",
    resources.apiServiceExports,
    "dbs.example.org",
    exported({ scope: "Cluster", clusterScopedIsolation: "None" }),
    /informerScope must be Cluster/,
  ],
  [
    "a cluster-scoped export without isolation",
    resources.apiServiceExports,
    "dbs.example.org",
    exported({ scope: "Cluster", informerScope: "Cluster" }),
    /clusterScopedIsolation must be set/,
  ],
  [
    "a namespaced export with isolation",
    resources.apiServiceExports,
    "dbs.example.org",
    exported({ clusterScopedIsolation: "None" }),
    /must not be set/,
  ],
  [
    "a claim that adopts and donates",
    resources.apiServiceBindings,
    "x",
    {
      kubeconfigSecretRef,
      permissionClaims: [
        { resource: "secrets", version: "v1", state: "Accepted", autoAdopt: true, autoDonate: true },
      ],
    },
    /mutually exclusive/,
  ],
  [
    "a kubeconfig key of another name",
    resources.apiServiceBindings,
    "x",
    { kubeconfigSecretRef: { ...kubeconfigSecretRef, key: "config" } },
    /Unsupported value: "config"/,
  ],
  [
    "an export request without resources",
    resources.apiServiceExportRequests,
    "x",
    { resources: [] },
    /at least 1 items/,
  ],
  [
    "a resource of a group that is no domain",
    resources.apiServiceExportRequests,
    "x",
    { resources: [{ resource: "dbs", group: "-x.example.org" }] },
    /group in body should match/,
  ],
  [
    "a template whose selector has a small a",
    resources.apiServiceExportTemplates,
    "x",
    { apiServiceSelector: { resource: "dbs" } },
    /APIServiceSelector: Required value/,
  ],
  [
    "a ProviderConfig of an unknown service type",
    resources.providerConfigs,
    "x",
    {
      url: "http://b",
      serviceType: "other",
      providerCredentials: { source: "None", username: {}, password: {} },
    },
    /serviceType: Unsupported value/,
  ],
];

for (const [what, type, name, spec, message] of refusals) {
  test(`refused: ${what}`, async () => {
    await assert.rejects(create(type, object(type, name, spec)), (error) => {
      assert.ok(isInvalid(error), String(error));
      assert.match(error.message, message);
      return true;
    });
  });
}

for (const group of ["", "x.example.org", "a-b.example.org", "example"]) {
  test(`accepted: a resource of the group ${JSON.stringify(group)}`, async () => {
    const type = resources.apiServiceExportRequests;
    await client.create(type, object(type, "g", { resources: [{ resource: "dbs", group }] }), {
      dryRun: true,
    });
  });
}

test("immutable fields cannot be changed", async () => {
  const type = resources.apiServiceBindings;
  const ref = { namespace: "a", name: "b.example.org" };
  await assert.rejects(
    client.mergePatch(type, ref, { spec: { kubeconfigSecretRef: { name: "other" } } }),
    /kubeconfigSecretRef is immutable/,
  );
});

const pg = resources.postgresqlInstanceClaims;
const sb = resources.serviceBindingClaims;
const instance = (spec: object = {}): object => ({
  service: "a9s-postgresql17",
  plan: "postgresql-single-small",
  ...spec,
});
const a9s = { compositionRef: { name: "a9s-postgresql" } };
const pgBinding = { instanceRef: "orders", serviceInstanceType: "postgresql" };

/** reference/provider.md Appendix B. Undefined: accepted. */
const claims: readonly (readonly [string, ResourceType, object, RegExp | undefined])[] = [
  ["8.4 item 10: an instance without a compositionRef", pg, instance(), undefined],
  ["an instance with a compositionRef", pg, instance(a9s), undefined],
  ["a large replicated instance", pg, instance({ ...a9s, plan: "postgresql-replica-big-ssl" }), undefined],
  ["a plan that there is not", pg, instance({ plan: "postgresql-replica-nano" }), /Unsupported plan used/],
  ["a service that there is not", pg, instance({ service: "a9s-postgresql9" }), /Unsupported service used/],
  [
    "a bionic plan of version 17",
    pg,
    instance({ plan: "postgresql-single-small-bionic" }),
    /only supported by a9s/,
  ],
  [
    "a bionic plan of version 13",
    pg,
    instance({ service: "a9s-postgresql13", plan: "postgresql-single-small-bionic" }),
    undefined,
  ],
  [
    "a parameter of the other PostgreSQL",
    pg,
    instance({ ...a9s, parameters: { sslCiphers: "HIGH" } }),
    /parameters\.sslCiphers is not supported for a9s-postgresql/,
  ],
  ["no limit of temporary files", pg, instance({ parameters: { tempFileLimit: -1 } }), undefined],
  ["a limit of nothing", pg, instance({ parameters: { tempFileLimit: 0 } }), /Must be either -1/],
  [
    "an unknown parameter value",
    pg,
    instance({ parameters: { logStatement: "some" } }),
    /Unsupported value: "some"/,
  ],
  ["a binding without a compositionRef", sb, pgBinding, undefined],
  ["a binding without an instance", sb, { serviceInstanceType: "postgresql" }, /instanceRef: Required value/],
  [
    "a binding to an unknown data service",
    sb,
    { ...pgBinding, serviceInstanceType: "s3" },
    /Unsupported value: "s3"/,
  ],
];
for (const [index, [what, type, spec, message]] of claims.entries()) {
  test(`${message === undefined ? "accepted" : "refused"}: ${what}`, async () => {
    const claim = object(type, `claim-${index}`, spec);
    if (message === undefined) await create(type, claim);
    else await assert.rejects(create(type, claim), message);
  });
}

const ssl = "postgresql-single-small-ssl";
const changes: readonly (readonly [string, object, object, RegExp | undefined])[] = [
  ["a larger plan", {}, { plan: "postgresql-single-big" }, undefined],
  ["from one server to several", {}, { plan: "postgresql-replica-small" }, undefined],
  ["a smaller plan", {}, { plan: "postgresql-single-nano" }, /bigger to smaller plan size is not supported/],
  ["to a plan with TLS", {}, { plan: ssl }, /not possible from Non-SSL to SSL/],
  [
    "to a plan without TLS",
    { plan: ssl },
    { plan: "postgresql-single-big" },
    /not possible from Non-SSL to SSL/,
  ],
  [
    "from several servers to one",
    { plan: "postgresql-replica-small" },
    { plan: "postgresql-single-big" },
    /Migration from replicated to single/,
  ],
  ["another version", {}, { service: "a9s-postgresql15" }, /Service is an immutable field/],
];
for (const [index, [what, before, change, message]] of changes.entries()) {
  test(`${message === undefined ? "accepted" : "refused"}: a change to ${what}`, async () => {
    const name = `change-${index}`;
    await create(pg, object(pg, name, instance(before)));
    const patch = client.mergePatch(pg, { namespace: "a", name }, { spec: change });
    if (message === undefined) await patch;
    else await assert.rejects(patch, message);
  });
}

test("8.4 item 10: a binding cannot be moved to another instance", async () => {
  await create(sb, object(sb, "moving", pgBinding));
  const ref = { namespace: "a", name: "moving" };
  for (const [field, value, message] of [
    ["instanceRef", "other", /InstanceRef is an immutable field/],
    ["serviceInstanceType", "mongodb", /ServiceInstanceType is an immutable field/],
  ] as const)
    await assert.rejects(client.mergePatch(sb, ref, { spec: { [field]: value } }), message);
});

const manifest = schema.object({
  apiVersion: schema.string(),
  kind: schema.string(),
  metadata: schema.object({ name: schema.string(), namespace: schema.string() }),
  spec: schema.anyObject(),
});

test("every shipped example is accepted, and none has a field that is dropped", async () => {
  const folder = new URL("../../../configuration/examples/", import.meta.url);
  const names = await readdir(folder);
  assert.ok(names.length >= 3);
  for (const name of names) {
    for (const value of parseYamlDocuments(await readFile(new URL(name, folder), "utf8"))) {
      assert.ok(schema.accepts(manifest, value), name);
      const type = [pg, sb].find(({ kind }) => kind === value.kind);
      assert.ok(type !== undefined, name);
      const { spec } = await client.create<KubeObject>(type, value, { dryRun: true });
      assert.deepEqual(spec, value.spec, name);
    }
  }
});
