/** The check of a control plane, on a real API server, by an account that may only read. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceExports,
  apiServiceExportTemplates,
  bindCrds,
  bindingGenerationsAnnotation,
  boundByAnnotation,
  clusterBindingName,
  clusterBindings,
  clusterNameAnnotation,
  identityAnnotation,
  issuerAnnotation,
  klutchVersion,
  managedServiceBindings,
  packageType,
  providerConfigs,
  providerCrds,
  templateGroup,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  customResourceDefinitions,
  deployments,
  type DynamicObject,
  listAt,
  namespaces,
  recordAt,
  recordsAt,
  roleBindings,
} from "@klutch/kube-core";
import {
  anyObject,
  crdObject,
  installKinds,
  isAllowed,
  namespaceObject,
  roleObject,
  waitFor,
} from "@klutch/kube-testing";
import { startAuditedCluster, verbsOf } from "./testing/audited-cluster.ts";
import { deploy, heard, tenant } from "./testing/objects.ts";

const audited = await startAuditedCluster();
after(() => audited[Symbol.asyncDispose]());
const { client } = audited.cluster;
const identity = { [identityAnnotation]: "me#cluster", [issuerAnnotation]: "https://issuer.example" };
const backend = { namespace: "klutch-system", name: "backend" };
const registry = "registry.example/klutch";
const providers = packageType("Provider", "providers");

await installKinds(client, [
  ...bindCrds,
  ...providerCrds,
  crdObject(providers, { properties: { spec: anyObject, status: anyObject } }),
]);
await client.create(namespaces, namespaceObject(backend.namespace));
await deploy(client, backend, `${registry}/backend:${klutchVersion}`);
await tenant(client, "cluster-a", identity);

/** Control characters but for line ends, and marks that turn the direction. */
const unprintable = /(?!\n)[\p{Cc}\p{Cf}]/u;

/** One row of the report that blocks the upgrade. */
type Row = Readonly<Record<"object" | "field" | "value" | "expected", string>>;

async function obstacles(): Promise<readonly Row[]> {
  const run = await audited.check(["-o", "json"]);
  const rows = listAt(JSON.parse(run.stdout()), "against") as readonly Row[];
  assert.equal(run.code, rows.length === 0 ? 0 : 1, run.stderr());
  return rows;
}

test("nothing blocks the upgrade of a healthy control plane, and the tables list the running programs", async () => {
  const run = await audited.check();
  assert.equal(run.code, 0, run.stdout() + run.stderr());
  assert.match(run.stdout(), /looked at a control plane\. Nothing was written\./);
  assert.match(run.stdout(), /Kubernetes +API server +v1\.\d+/);
  assert.match(run.stdout(), /backend +klutch-system\/backend +v1\.6\.0 +2 of 2 replicas available/);
  assert.match(run.stdout(), /konnector of +cluster-a\/cluster +v1\.6\.0 +heartbeat \d+ s ago/);
  assert.match(run.stdout(), /CRD +clusterbindings\S+ +v1alpha1 \(storage\) +Namespaced; stored: v1alpha1/);
  assert.doesNotMatch(run.stdout(), /Changes of the upgrade/);
  assert.match(run.stderr(), /Nothing blocks the upgrade to v1\.6\.0/);
});

test("a program that is newer, too old or not available is named with what would be right", async () => {
  const setImage = (image: string): Promise<unknown> =>
    client.mergePatch(deployments, backend, {
      spec: { template: { spec: { containers: [{ name: "backend", image }] } } },
    });
  await setImage(`${registry}/backend:v1.7.0`);
  const [newer] = await obstacles();
  assert.equal(newer?.object, "Deployment klutch-system/backend");
  assert.match(newer.expected, /v1\.6\.0 or older.*use the klutch of v1\.7\.0/);
  await setImage(`${registry}/backend:v1.4.2`);
  assert.match((await obstacles())[0]?.expected ?? "", /^v1\.5 or newer/);
  await setImage(`${registry}/backend:${klutchVersion}`);
  const status = { status: { availableReplicas: 1 } };
  await client.mergePatch(deployments, backend, status, { subresource: "status" });
  const [short] = await obstacles();
  assert.deepEqual([short?.field, short?.value], ["status.availableReplicas", "1"]);
  const whole = { status: { availableReplicas: 2 } };
  await client.mergePatch(deployments, backend, whole, { subresource: "status" });
});

test("rotated ServiceBindings are named before anyone goes back to a provider in Go, and block nothing", async () => {
  const labels = { "crossplane.io/claim-name": "orders", "crossplane.io/claim-namespace": "cluster-a-demo" };
  const names = ["first", "rotated", "unread"];
  const records = ['{"current":0,"request":"1","old":[]}', '{"current":1,"old":[]}', "{"];
  for (const [index, name] of names.entries())
    await client.create<DynamicObject>(managedServiceBindings, {
      apiVersion: "dataservices.anynines.com/v1",
      kind: "ServiceBinding",
      metadata: { name, labels, annotations: { [bindingGenerationsAnnotation]: records[index] ?? "" } },
      spec: {
        providerConfigRef: { name: "p" },
        forProvider: { instanceName: "db", acceptsIncomplete: true },
      },
    });
  const run = await audited.check();
  assert.equal(run.code, 0, run.stdout());
  assert.match(run.stdout(), /Secrets of 2 rotated ServiceBindings, .*delete the rotated one/);
  const named = [...run.stdout().matchAll(/Rotated: claim (\S+), ServiceBinding (\S+)\./g)];
  assert.deepEqual(
    named.map(([, claim, name]) => [claim, name]),
    [
      ["cluster-a-demo/orders", "rotated"],
      ["cluster-a-demo/orders", "unread"],
    ],
  );
  for (const name of names) await client.delete(managedServiceBindings, { name });
});

test("an image by digest from any registry is known by the labels of its chart", async () => {
  const labels = { "app.kubernetes.io/name": "klutch-backend", "app.kubernetes.io/version": "1.7.0" };
  await client.mergePatch(deployments, backend, {
    metadata: { labels },
    spec: {
      template: {
        spec: { containers: [{ name: "backend", image: `mirror.example/x/b@sha256:${"0".repeat(64)}` }] },
      },
    },
  });
  assert.match((await obstacles())[0]?.expected ?? "", /use the klutch of 1\.7\.0/);
  await client.mergePatch(deployments, backend, {
    metadata: { labels: { "app.kubernetes.io/version": "1.6.0" } },
  });
  assert.deepEqual(await obstacles(), []);
});

test("an app cluster whose konnector is too far away, or was not heard of, stands against it", async () => {
  await heard(client, "cluster-a", { konnectorVersion: "v1.4.0" });
  assert.match((await obstacles())[0]?.expected ?? "", /^v1\.5 to v1\.7: upgrade the konnector/);
  await heard(client, "cluster-a", { konnectorVersion: "v1.7.0" });
  assert.deepEqual(await obstacles(), []);
  await heard(client, "cluster-a", { lastHeartbeatTime: "2026-01-01T00:00:00Z" });
  assert.equal((await obstacles())[0]?.field, "status.lastHeartbeatTime");
  const condition = { type: "Ready", status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" };
  await heard(client, "cluster-a", {
    conditions: [{ ...condition, severity: "Error", reason: "AccountMissing", message: "no account" }],
  });
  const [ready] = await obstacles();
  assert.deepEqual(
    [ready?.field, ready?.value],
    ["status.conditions[Ready]", "False AccountMissing: no account"],
  );
  // What a backend in Go says of every konnector that is well.
  await heard(client, "cluster-a", { conditions: [{ ...condition, reason: "HeartbeatTimeDrift" }] });
  assert.deepEqual(await obstacles(), []);
  await heard(client, "cluster-a", { conditions: [] });
});

/** Binds an API of the group example.org for the app cluster. */
async function createExport(plural: string, kind: string, more: object = {}): Promise<void> {
  await client.create<DynamicObject>(apiServiceExports, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { namespace: "cluster-a", name: `${plural}.example.org`, ...more },
    spec: {
      group: "example.org",
      names: { kind, plural },
      scope: "Namespaced",
      informerScope: "Namespaced",
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
      ],
    },
  });
}

test("objects that are being deleted stand against it, with what they wait for", async () => {
  const ref = { namespace: "cluster-a", name: "gone.example.org" };
  await createExport("gone", "Gone", { finalizers: ["test.example/hold"] });
  await client.delete(apiServiceExports, ref);
  const [going] = await obstacles();
  assert.deepEqual(
    [going?.object, going?.field],
    ["APIServiceExport cluster-a/gone.example.org", "metadata.deletionTimestamp"],
  );
  assert.match(going?.expected ?? "", /it waits for test\.example\/hold$/);
  await client.mergePatch(apiServiceExports, ref, { metadata: { finalizers: null } });
});

test("a Crossplane that is too old stands against it, and a package that is not healthy", async () => {
  await client.create(namespaces, namespaceObject("crossplane-system"));
  const crossplane = { namespace: "crossplane-system", name: "crossplane" };
  await deploy(client, crossplane, "registry.test/crossplane/crossplane:v1.20.0");
  await client.create<DynamicObject>(providers, {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Provider",
    metadata: { name: "ours" },
    spec: { package: `${registry}/provider-anynines:v1.6.0` },
  });
  const rows = await obstacles();
  assert.deepEqual(
    rows.map(({ object, field }) => `${object} ${field}`),
    [
      "Deployment crossplane-system/crossplane image",
      "Provider ours status.conditions[Installed]",
      "Provider ours status.conditions[Healthy]",
    ],
  );
  assert.match(rows[0]?.expected ?? "", /Crossplane v2\.0 or newer/);
  await client.delete(providers, { name: "ours" });
  await client.delete(deployments, crossplane);
});

/** The release's definition with a change, in the place of its own. */
async function installChanged(
  name: string,
  change: (schema: object) => object,
  more: object = {},
): Promise<void> {
  const original = [...bindCrds, ...providerCrds].find(({ metadata }) => metadata.name === name);
  assert.ok(original);
  const versions = recordsAt(original.spec, "versions").map((version) => ({
    ...version,
    schema: { openAPIV3Schema: change(recordAt(version, "schema", "openAPIV3Schema")) },
  }));
  const live = await client.get<DynamicObject>(customResourceDefinitions, { name });
  const spec = { ...original.spec, versions, ...more };
  await client.replace<DynamicObject>(customResourceDefinitions, { ...live, spec });
}

test("a schema that is narrower than the installed one counts if it would invalidate an object", async () => {
  const name = "providerconfigs.dataservices.anynines.com";
  const withField = (schema: object): object => {
    const spec = recordAt(schema, "properties", "spec");
    const properties = { ...recordAt(spec, "properties"), newer: { type: "string" } };
    return { ...schema, properties: { ...recordAt(schema, "properties"), spec: { ...spec, properties } } };
  };
  await installChanged(name, withField);
  const change = await audited.check(["-o", "json"]);
  assert.equal(change.code, 0, "no object has the field");
  assert.match(change.stdout(), /"effect": "breaking",\s+"change": "v1 spec\.newer: the field is removed"/);
  const object = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    metadata: { name: "one" },
    spec: {
      url: "https://broker.example",
      serviceType: "servicebroker",
      providerCredentials: { source: "None", username: {}, password: {} },
      newer: "x",
    },
  };
  await waitFor("the field to be kept", async () => {
    const made = await client.apply<DynamicObject>(providerConfigs, object, { fieldManager: "test" });
    return recordAt(made.spec)["newer"] === "x";
  });
  const [row] = await obstacles();
  assert.deepEqual([row?.object, row?.value], ["ProviderConfig one", "spec.newer: would be lost"]);
  await client.delete(providerConfigs, { name: "one" });
  await installChanged(name, (schema) => schema);
});

test("a stored version that the release does not know stands against an older artefact", async () => {
  const name = clusterBindings.plural + ".klutch.anynines.com";
  const original = bindCrds.find(({ metadata }) => metadata.name === name);
  const [version = {}] = recordsAt(original?.spec, "versions");
  const newer = { ...version, name: "v1alpha2", served: true, storage: true };
  await installChanged(name, (schema) => schema, { versions: [{ ...version, storage: false }, newer] });
  const live = async (): Promise<DynamicObject> => client.get(customResourceDefinitions, { name });
  await waitFor("the version to be stored", async () =>
    listAt((await live()).status, "storedVersions").includes("v1alpha2"),
  );
  const rows = await obstacles();
  const row = rows.find(({ field }) => field === "status.storedVersions");
  assert.equal(row?.value, "v1alpha2");
  assert.match(row.expected, /only v1alpha1, .*older than the stored version/);
  await installChanged(name, (schema) => schema, { versions: [version, { ...newer, storage: false }] });
  const status = { status: { storedVersions: ["v1alpha1"] } };
  await client.mergePatch(customResourceDefinitions, { name }, status, { subresource: "status" });
  await installChanged(name, (schema) => schema);
});

test("people who could not bind their APIs again if RBAC decided are named, and the API server agrees", async () => {
  await createExport("widgets", "Widget");
  const template = { namespace: "default", name: "widgets" };
  await client.create<DynamicObject>(apiServiceExportTemplates, {
    apiVersion: `${templateGroup}/v1alpha1`,
    kind: "APIServiceExportTemplate",
    metadata: template,
    spec: { APIServiceSelector: { group: "example.org", resource: "widgets" } },
  });
  const lost = async (): Promise<readonly unknown[]> =>
    listAt(JSON.parse((await audited.check(["-o", "json"])).stdout()), "notes").filter((note) =>
      String(note).startsWith("Not allowed to bind"),
    );
  const complaint = "Not allowed to bind: app cluster cluster-a: widgets.example.org; people: oidc:me.";
  assert.deepEqual(await lost(), [complaint]);
  const resource = "apiserviceexporttemplates";
  const rule = {
    apiGroups: [templateGroup],
    resources: [resource],
    resourceNames: ["widgets"],
    verbs: ["bind"],
  };
  await client.create(clusterRoles, roleObject({ name: "bind-widgets" }, [rule]));
  const question = { verb: "bind", group: templateGroup, resource, name: template.name };
  const says = (): Promise<boolean> => isAllowed(client, "oidc:me", question, template.namespace);
  for (const [type, where, isRight] of [
    [roleBindings, { namespace: "cluster-a" }, false],
    [roleBindings, { namespace: template.namespace }, true],
    [clusterRoleBindings, {}, true],
  ] as const) {
    const apiGroup = "rbac.authorization.k8s.io";
    const made = { ...where, name: "bind-widgets" };
    await client.create<DynamicObject>(type, {
      apiVersion: `${apiGroup}/v1`,
      kind: type.kind,
      metadata: made,
      roleRef: { apiGroup, kind: "ClusterRole", name: "bind-widgets" },
      subjects: [{ apiGroup, kind: "User", name: "oidc:me" }],
    });
    await waitFor("the API server to say so", async () => (await says()) === isRight);
    assert.deepEqual(await lost(), isRight ? [] : [complaint], `${type.plural} ${JSON.stringify(where)}`);
    await client.delete(type, made);
    await waitFor("the right to go", async () => !(await says()));
  }
  await client.delete(apiServiceExports, { namespace: "cluster-a", name: "widgets.example.org" });
  await client.delete(apiServiceExportTemplates, template);
});

test("a tenant whose removal is suggested is called by its names, which are printed as text and cut", async () => {
  const ref = { namespace: "cluster-a", name: clusterBindingName };
  const named = (cluster: string, who: string): Promise<unknown> => {
    const annotations = { [clusterNameAnnotation]: cluster, [boundByAnnotation]: who };
    return client.mergePatch(clusterBindings, ref, { metadata: { annotations } });
  };
  const silent = async (): Promise<string | undefined> => (await obstacles())[0]?.object;
  await heard(client, "cluster-a", { lastHeartbeatTime: "2026-01-01T00:00:00Z" });
  await named("prod-eu", "jane@example.org");
  assert.equal(await silent(), "ClusterBinding cluster-a/cluster (prod-eu, jane@example.org)");
  await named("a\u001b[2J\u202e\nb", "x".repeat(5_000));
  assert.match((await silent()) ?? "", /^ClusterBinding cluster-a\/cluster \(a \[2J b, x{127}…\)$/);
  await heard(client, "cluster-a");
});

test("what a cluster says of itself is printed as text and cut", async () => {
  const evil = "v1.6.0\u001b[2J\u202e\nsecond line";
  await heard(client, "cluster-a", { konnectorVersion: `${evil}${"x".repeat(5_000)}` });
  await deploy(client, { namespace: "cluster-a", name: "backend" }, `${registry}/backend:${evil}`, 0);
  const text = await audited.check();
  assert.doesNotMatch(text.stdout() + text.stderr(), unprintable);
  for (const line of text.stdout().split("\n")) assert.ok(line.length < 2_000, "a line is bounded");
  const json = await audited.check(["-o", "json"]);
  assert.doesNotMatch(json.stdout(), unprintable);
  assert.match(json.stdout(), /second line/);
  JSON.parse(json.stdout());
  await client.delete(deployments, { namespace: "cluster-a", name: "backend" });
  await heard(client, "cluster-a");
});

test("more rows than anybody reads are counted, not printed", async () => {
  const names = Array.from({ length: 230 }, (_, index) => `many-${index}`);
  await Promise.all(
    names.map((name) => deploy(client, { namespace: "cluster-a", name }, `${registry}/backend:v9.0.0`)),
  );
  const run = await audited.check(["-o", "json"]);
  const report: unknown = JSON.parse(run.stdout());
  assert.equal(listAt(report, "against").length, 200);
  assert.equal(recordAt(report, "counts")["against"], 230);
  assert.match((await audited.check()).stdout(), /… and 30 more/);
  await Promise.all(names.map((name) => client.delete(deployments, { namespace: "cluster-a", name })));
});

test("bad input is refused with what would be right", async () => {
  const format = await audited.check(["-o", "yaml"]);
  assert.match(format.stderr(), /-o "yaml".*\bjson\b.*\bomit\b/);
  assert.equal(format.code, 1);
});

test("the account that read it could not have written, and only GET and LIST were sent", async () => {
  assert.deepEqual(await obstacles(), []);
  assert.deepEqual(verbsOf(await audited.requests()), ["get", "list"]);
});
