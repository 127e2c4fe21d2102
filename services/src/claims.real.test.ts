import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { after, test } from "node:test";
import {
  customResourceDefinitions,
  namespaces,
  postgresqlInstanceClaims,
  serviceBindingClaims,
} from "@klutch/api";
import { type DynamicObject, type KubeObject, parseYamlDocuments, type ResourceType } from "@klutch/kube";
import { startCluster, waitFor } from "@klutch/kube-testing";
import * as schema from "@klutch/schema";
import { claimCrd } from "./testing/claim-crd.ts";
import { xrds } from "./xrds.ts";

const cluster = await startCluster({ name: "claims" });
after(() => cluster[Symbol.asyncDispose]());
const { client } = cluster;
await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
for (const crd of xrds.map(claimCrd)) await client.create<KubeObject>(customResourceDefinitions, crd);

const object = (type: ResourceType, name: string, spec: unknown): DynamicObject => ({
  apiVersion: `${type.group}/${type.version}`,
  kind: type.kind,
  metadata: { name, namespace: "a" },
  spec,
});

/** The first requests to fresh CRDs may still be answered with 404. */
async function create(type: ResourceType, value: DynamicObject): Promise<DynamicObject> {
  await waitFor(`${type.plural} to be served`, async () => (await client.list(type)) !== undefined);
  return client.create(type, value);
}

const pg = postgresqlInstanceClaims;
const sb = serviceBindingClaims;
const instance = (spec: object = {}): object => ({
  service: "a9s-postgresql17",
  plan: "postgresql-single-small",
  ...spec,
});
const a9s = { compositionRef: { name: "a9s-postgresql" } };
const pgBinding = { instanceRef: "orders", serviceInstanceType: "postgresql" };

/** Undefined: accepted. */
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
  const folder = new URL("../../configuration/examples/", import.meta.url);
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
