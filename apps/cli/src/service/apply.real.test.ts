/** `klutch service apply` and `remove` on a real API server with Crossplane's kinds. The test plays Crossplane, which does not run here. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import {
  aggregateToBackendLabel,
  apiServiceExportTemplates,
  bindCrds,
  clusterProviderConfigs,
  providerConfigs,
  providerCrds,
} from "@klutch/api";
import { resolveEngine } from "@klutch/engines";
import { parsePlacedYaml, parseYamlDocuments } from "@klutch/kube";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  type Role,
  textAt,
} from "@klutch/kube-core";
import { crdObject, leaseCluster, waitFor } from "@klutch/kube-testing";
import { compositionType, legacy, manifestsOf, readTable } from "@klutch/services";
import { type Finished, startRun } from "../testing/run.ts";
import { definitions } from "./control-plane.ts";

const cluster = await leaseCluster({ name: "service-tables" });
after(() => cluster[Symbol.asyncDispose]());
const { client } = cluster;
const folder = await mkdtemp(join(tmpdir(), "klutch-service-"));
after(() => rm(folder, { recursive: true, force: true }));
const kubeconfig = join(folder, "kubeconfig");
await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });

const table = (type: string, kind: string): string => `apiVersion: services.klutch.anynines.com/v1alpha1
kind: DataService
metadata: { name: ${type} }
spec:
  title: Example
  about: A service to start from.
  claim: { kind: ${kind} }
  sizes: [{ word: small }, { word: big }]
  backends:
    - name: a9s
      default: true
      broker: {}
      services: [example1]
      plans:
        - name: example-small
        - name: example-big
      rules:
        - neverSmaller: {}
        - cel: { expression: "!has(self.parameters) || self.plan == 'example-big'" }
          message: parameters need the big plan
  parameters:
    - name: words
      about: How many words.
      to: { a9s: words }
      schema: { type: integer, rules: [{ rule: self > 0, message: Must be greater than 0 }] }
  credentials: { keys: [host] }
`;
const example = table("example", "ExampleInstance");

async function klutch(command: string, text: string, ...flags: readonly string[]): Promise<Finished> {
  const path = join(folder, "example.yaml");
  await writeFile(path, text);
  return startRun("klutch", ["service", command, path, "--kubeconfig", kubeconfig, ...flags], {}).done;
}

const remove = (type: string, ...flags: readonly string[]): Promise<Finished> =>
  startRun("klutch", ["service", "remove", type, "--kubeconfig", kubeconfig, ...flags], {}).done;

const xrd = (name: string): Promise<DynamicObject | undefined> =>
  client.find<DynamicObject>(definitions, { name });
const xrdName = "xexampleinstances.anynines.com";
const rightsName = "klutch-backend-claims-exampleinstances.anynines.com";

test("a cluster without Crossplane is told what it lacks", async () => {
  const run = await klutch("apply", example);
  assert.equal(run.code, 1);
  assert.match(
    run.stderr(),
    /does not know the kind CompositeResourceDefinition: Crossplane is not installed there/,
  );
});

test("with Crossplane's kinds", async (t) => {
  await installKinds();

  await t.test("a dry run prints everything and changes nothing", async () => {
    const run = await klutch("apply", example, "--dry-run", "-o", "name");
    assert.equal(run.code, 0, run.stderr());
    assert.deepEqual(run.stdout().trim().split("\n"), [
      `compositeresourcedefinition.apiextensions.crossplane.io/${xrdName}`,
      "composition.apiextensions.crossplane.io/a9s-example",
      "clusterrole.rbac.authorization.k8s.io/klutch-backend-claims-exampleinstances.anynines.com",
      "apiserviceexporttemplate.example-backend.klutch.anynines.com/exampleinstances",
    ]);
    assert.equal(await xrd(xrdName), undefined);
  });

  await t.test("rules that do not compile are refused with their lines, and nothing is written", async () => {
    const text = example
      .replace("!has(self.parameters) ||", "!hass(self.parameters) ||")
      .replace("rule: self > 0", "rule: self > zero");
    const run = await klutch("apply", text);
    assert.equal(run.code, 1);
    assert.match(
      run.stderr(),
      /example\.yaml:19: spec\.backends\[0\]\.rules\[1\]\.cel\.expression: compilation failed: .*undeclared reference to 'hass'/,
    );
    assert.match(
      run.stderr(),
      /example\.yaml:25: spec\.parameters\[0\]\.schema\.rules\[0\]\.rule: compilation failed: .*undeclared reference to 'zero'/,
    );
    assert.match(run.stderr(), /refuses 2 rules of .*Nothing was changed/);
    assert.equal(await xrd(xrdName), undefined);
  });

  await t.test(
    "applied, it is offered, and the ProviderConfigs that are missing are printed without credentials",
    async () => {
      const offering = offer(xrdName);
      const run = await klutch("apply", example);
      await offering;
      assert.equal(run.code, 0, run.stderr());
      assert.match(run.stderr(), /exampleinstances\.anynines\.com is offered/);
      assert.match(
        run.stderr(),
        /Missing: ProviderConfig example-service-broker, ProviderConfig example-backup-manager/,
      );
      const [broker, manager] = parseYamlDocuments(run.stdout());
      for (const config of [broker, manager])
        await client.create(providerConfigs, config as KubeObject, { dryRun: true });
      const rights = await client.get<Role>(clusterRoles, { name: rightsName });
      assert.equal(rights.metadata.labels?.[aggregateToBackendLabel], "true");
      const apiGroups = ["anynines.com"];
      assert.deepEqual(rights.rules, [
        { apiGroups, resources: ["exampleinstances", "xexampleinstances"], verbs: ["get", "list", "watch"] },
        { apiGroups, resources: ["exampleinstances/status"], verbs: ["patch"] },
        { apiGroups, resources: ["exampleinstances"], verbs: ["offer"] },
      ]);
      for (const [type, name, namespace] of [
        [definitions, xrdName, undefined],
        [compositionType, "a9s-example", undefined],
        [clusterRoles, rightsName, undefined],
        [apiServiceExportTemplates, "exampleinstances", "crossplane-system"],
      ] as const) {
        const found = await client.get<DynamicObject>(type, { name, namespace });
        assert.equal(found.metadata.labels?.["klutch.anynines.com/service-type"], "example");
      }
    },
  );

  await t.test("applied again it changes nothing", async () => {
    const before = await xrd(xrdName);
    const run = await klutch("apply", example);
    assert.equal(run.code, 0, run.stderr());
    assert.equal((await xrd(xrdName))?.metadata.resourceVersion, before?.metadata.resourceVersion);
  });

  await t.test("objects of a package, or of an unknown owner, are refused and not changed", async () => {
    for (const [kind, ownerReferences, words] of [
      [
        "PackagedInstance",
        [{ apiVersion: "pkg.crossplane.io/v1", kind: "ConfigurationRevision", name: "klutch-1", uid: "1" }],
        /belongs to the ConfigurationRevision klutch-1/,
      ],
      ["ForeignInstance", undefined, /is there already and was not made from a table of the type foreign/],
    ] as const) {
      const text = table("foreign", kind);
      const { xrd: made } = manifests(text);
      const object = { ...made, metadata: { name: made.metadata.name, ownerReferences } };
      const before = await client.create<DynamicObject>(definitions, object as unknown as DynamicObject);
      const run = await klutch("apply", text);
      assert.equal(run.code, 1);
      assert.match(run.stderr(), words);
      assert.equal(
        (await xrd(made.metadata.name))?.metadata.resourceVersion,
        before.metadata.resourceVersion,
      );
    }
  });

  await t.test("an API that never comes ends in what Crossplane says", async () => {
    const run = await klutch("apply", table("silent", "SilentInstance"), "--timeout", "1s");
    assert.equal(run.code, 1);
    assert.match(
      run.stderr(),
      /Waited 1 s for silentinstances\.anynines\.com to be offered: Crossplane has said nothing of it yet/,
    );
  });

  await t.test("a template of a package's service is not removed, nor anything else of it", async () => {
    const packaged = {
      apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
      kind: "APIServiceExportTemplate",
      metadata: {
        name: "shipped",
        namespace: "crossplane-system",
        labels: { "klutch.anynines.com/service-type": "shipped" },
      },
      spec: { APIServiceSelector: { group: "anynines.com", resource: "shippedinstances" } },
    };
    await client.create<KubeObject>(apiServiceExportTemplates, packaged);
    const run = await remove("shipped");
    assert.equal(run.code, 1);
    assert.match(run.stderr(), /Nothing here was made from a table of the type shipped/);
    await client.get(apiServiceExportTemplates, packaged.metadata);
  });

  const namespacedName = "exampleinstances.m.anynines.com";
  await t.test("the other generation is offered beside it, and taken away without it", async () => {
    const other = ["--generation", "v2"] as const;
    const dry = await klutch("apply", example, "--dry-run", "-o", "name", ...other);
    assert.equal(dry.code, 0, dry.stderr());
    assert.deepEqual(dry.stdout().trim().split("\n"), [
      `compositeresourcedefinition.apiextensions.crossplane.io/${namespacedName}`,
      "composition.apiextensions.crossplane.io/a9s-example-namespaced",
      `clusterrole.rbac.authorization.k8s.io/klutch-backend-claims-${namespacedName}`,
      `apiserviceexporttemplate.example-backend.klutch.anynines.com/${namespacedName}`,
    ]);
    const offering = offer(namespacedName, ["Established"]);
    const run = await klutch("apply", example, ...other);
    await offering;
    assert.equal(run.code, 0, run.stderr());
    assert.match(run.stderr(), /exampleinstances\.m\.anynines\.com is offered/);
    assert.match(
      run.stderr(),
      /Missing: ClusterProviderConfig example-service-broker, ClusterProviderConfig /,
    );
    for (const config of parseYamlDocuments(run.stdout()))
      await client.create(clusterProviderConfigs, config as KubeObject, { dryRun: true });
    const spec = (await xrd(namespacedName))?.["spec"];
    assert.equal(textAt(spec, "scope"), "Namespaced");
    const removed = await remove("example", ...other);
    assert.equal(removed.code, 0, removed.stderr());
    assert.equal(await xrd(namespacedName), undefined);
    assert.ok((await xrd(xrdName)) !== undefined);
    await client.get(clusterRoles, { name: rightsName });
    const again = await remove("example", ...other);
    assert.match(again.stderr(), /Nothing here was made from a table of the type example for claims of v2/);
  });

  await t.test("it is not removed while there are claims; without any it is", async () => {
    const { claims } = manifests(example);
    await client.create<KubeObject>(customResourceDefinitions, claims as unknown as KubeObject);
    const type: ResourceType = {
      group: "anynines.com",
      version: "v1",
      plural: "exampleinstances",
      kind: "ExampleInstance",
      namespaced: true,
    };
    const claim = {
      metadata: { name: "one", namespace: "default" },
      spec: { service: "example1", plan: "example-small" },
    };
    await client.create<KubeObject>(
      customResourceDefinitions,
      crdObject(
        { ...type, plural: "backups", kind: "Backup" },
        { properties: { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } },
      ),
    );
    for (const plural of ["exampleinstances", "backups"])
      await waitFor(
        `${plural} to be served`,
        async () => (await client.list({ ...type, plural })) !== undefined,
      );
    await client.create<DynamicObject>(type, {
      apiVersion: "anynines.com/v1",
      kind: "ExampleInstance",
      ...claim,
    });
    const refused = await remove("example");
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr(),
      /There is 1 ExampleInstance \(default\/one\), which would be deleted with the API\. Delete it first\. Nothing was changed/,
    );
    assert.ok((await xrd(xrdName)) !== undefined);
    await client.delete(type, { name: "one", namespace: "default" });
    const backups: ResourceType = { ...type, plural: "backups", kind: "Backup" };
    for (const [name, serviceInstanceType] of [
      ["old", "example"],
      ["others", "postgresql"],
    ] as const)
      await client.create<DynamicObject>(backups, {
        apiVersion: "anynines.com/v1",
        kind: "Backup",
        metadata: { name, namespace: "default" },
        spec: { instanceRef: "one", serviceInstanceType },
      });
    assert.match(
      (await remove("example")).stderr(),
      /There is 1 Backup \(default\/old\) of the type example\. Delete it first\. Nothing was changed/,
    );
    await client.delete(backups, { name: "old", namespace: "default" });
    assert.match((await remove("example", "--dry-run")).stderr(), /Dry run: nothing was changed/);
    const [config] = manifests(example).providerConfigs;
    assert.ok(config !== undefined);
    const credentials = { providerCredentials: { source: "None", username: {}, password: {} } };
    const spec = { url: "https://broker.example.org", serviceType: config.serviceType, ...credentials };
    await client.create<KubeObject>(providerConfigs, {
      apiVersion: "dataservices.anynines.com/v1",
      kind: "ProviderConfig",
      metadata: { name: config.name },
      spec,
    } as KubeObject);
    const run = await remove("example");
    assert.equal(run.code, 0, run.stderr());
    assert.match(
      run.stderr(),
      /Left: ProviderConfig example-service-broker\. Delete what you do not need any more/,
    );
    assert.equal(await xrd(xrdName), undefined);
    assert.equal(await client.find(clusterRoles, { name: rightsName }), undefined);
    assert.match(
      (await remove("example")).stderr(),
      /Nothing here was made from a table of the type example/,
    );
    assert.match((await remove("a,b!=c")).stderr(), /"a,b!=c" is not the type of a service/);
  });
});

function manifests(text: string): ReturnType<typeof manifestsOf> {
  const { table: read } = readTable(parsePlacedYaml(text));
  assert.ok(read !== undefined);
  return manifestsOf(legacy, read);
}

/** Does what Crossplane does with a new definition, as far as the command waits for it. */
async function offer(name: string, types: readonly string[] = ["Established", "Offered"]): Promise<void> {
  await waitFor("the definition", async () => (await xrd(name)) !== undefined);
  const conditions = types.map((type) => ({
    type,
    status: "True",
    reason: "Watching",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));
  await client.mergePatch(definitions, { name }, { status: { conditions } }, { subresource: "status" });
}

async function installKinds(): Promise<void> {
  const crds = join(dirname(await resolveEngine("crossplane")), "cluster", "crds");
  const files = ["compositeresourcedefinitions", "compositions"].map(
    (name) => `apiextensions.crossplane.io_${name}.yaml`,
  );
  const texts = await Promise.all(files.map((name) => readFile(join(crds, name), "utf8")));
  const kinds = [...texts.flatMap(parseYamlDocuments), ...bindCrds, ...providerCrds];
  for (const crd of kinds) await client.create<KubeObject>(customResourceDefinitions, crd as KubeObject);
  await client.create<KubeObject>(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "crossplane-system" },
  });
  for (const type of [definitions, compositionType, apiServiceExportTemplates, providerConfigs])
    await waitFor(`${type.plural} to be served`, async () => (await client.list(type)) !== undefined);
}
