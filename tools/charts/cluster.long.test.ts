/** The charts on a real API server: the life of a release, and every object is one that the server takes. */
import assert from "node:assert/strict";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  type APIServiceBinding,
  apiServiceBindingCrd,
  apiServiceBindings,
  apiServiceExports,
  apiServiceExportTemplates,
  backendPolicyName,
  consumerNamespace,
  klutchVersion,
  konnectorManifests,
  konnectorName,
  konnectorPolicyName,
  packageType,
  providerName,
} from "@klutch/api";
import { resolveEngine, run } from "@klutch/engines";
import { formatYaml, parseYamlDocuments } from "@klutch/kube";
import {
  apiVersionOf,
  clusterRoles,
  customResourceDefinitions,
  deployments,
  type DynamicObject,
  isRecord,
  listAt,
  recordsAt,
  type Role,
  textAt,
  validatingAdmissionPolicies,
} from "@klutch/kube-core";
import { installKinds, namespaceObject, leaseCluster, objectOfType, waitFor } from "@klutch/kube-testing";
import { bundleObjects, bundleText } from "../release/bundles.ts";
import { releaseAnnotation } from "./chart.ts";
import { foreignKinds } from "./testing/foreign-kinds.ts";
import { chartPath, objectOf, type Rendered, startHelm } from "./testing/helm.ts";
import { atHome, everyKonnectorValue, minimal, variants } from "./testing/values.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await leaseCluster({ name: "charts" }));
const helm = stack.use(await startHelm(cluster.kubeconfig));
const kubectl = await resolveEngine("kubectl");
const { client } = cluster;

const kubectlEnvironment = {
  PATH: "/usr/bin:/bin",
  HOME: helm.folder,
  KUBECONFIG: join(helm.folder, "kubeconfig"),
};

const bindings = [{ name: "dbs.example.org", secretName: "kubeconfig-x" }];
const konnector = { namespace: consumerNamespace, name: konnectorName };
const exportsKind = `${apiServiceExports.plural}.${apiServiceExports.group}`;
const backend = { namespace: backendPolicyName, name: backendPolicyName };
const providers = packageType("Provider", "providers");

/** A binding that the plugin made, beside those of the values. */
const boundByPlugin: APIServiceBinding = {
  apiVersion: apiVersionOf(apiServiceBindings),
  kind: apiServiceBindings.kind,
  metadata: { name: "caches.example.org", namespace: consumerNamespace },
  spec: {
    kubeconfigSecretRef: { name: "kubeconfig-y", namespace: consumerNamespace, key: "kubeconfig" },
  },
};

async function policyText(): Promise<string> {
  const ref = { name: konnectorPolicyName };
  return JSON.stringify(await client.get<DynamicObject>(validatingAdmissionPolicies, ref));
}

/** Server-side apply by kubectl; with `dryRun` the server only answers, and refuses unknown fields. */
async function apply(objects: readonly object[], options: { readonly dryRun?: boolean } = {}): Promise<void> {
  const file = join(helm.folder, "objects.yaml");
  await writeFile(file, objects.map(formatYaml).join("---\n"));
  const dry = options.dryRun === true ? ["--dry-run=server", "--validate=strict"] : [];
  await run(kubectl, ["apply", "--server-side", "--force-conflicts", ...dry, "-f", file], {
    env: kubectlEnvironment,
  });
}

/** `helm upgrade --install`; gives back what it says. */
async function install(
  name: keyof typeof atHome,
  chart: string,
  values: object,
  ...args: readonly string[]
): Promise<string> {
  const file = await helm.values(values);
  const release = ["upgrade", "--install", name, chart, "--create-namespace", ...atHome[name]];
  return helm.run(...release, "-f", file, ...args);
}

test("a konnector that the plugin installed is taken over, and bindings come with a kind that was not there", async () => {
  const chart = chartPath("klutch-konnector");
  const manifests = konnectorManifests({ image: "registry.example.org/klutch/konnector:v1.5.0" });
  await apply(manifests);
  const before = await client.get<DynamicObject>(deployments, konnector);
  await assert.rejects(install("klutch-konnector", chart, { bindings }), /invalid ownership metadata/);
  const notes = await install("klutch-konnector", chart, { bindings }, "--take-ownership");
  assert.match(notes, /rollout status deployment konnector\n.*get apiservicebindings/);
  const after = await client.get<DynamicObject>(deployments, konnector);
  assert.equal(after.metadata.uid, before.metadata.uid);
  assert.notDeepEqual(after.spec, before.spec, "it has the chart's image");
  await client.create(apiServiceBindings, boundByPlugin);
  const boundApis = /dyn\(variables\)\.resource in \['caches\.example\.org', 'dbs\.example\.org'\]/;
  await install("klutch-konnector", chart, { bindings });
  assert.match(await policyText(), boundApis);
  await install("klutch-konnector", chart, {});
  assert.match(await policyText(), boundApis);
  await helm.run("uninstall", "klutch-konnector", ...atHome["klutch-konnector"]);
  assert.equal(await client.find(deployments, konnector), undefined);
  const ref = { namespace: consumerNamespace, name: "dbs.example.org" };
  assert.ok(await client.find(apiServiceBindings, ref), "a binding is unbound by the plugin only");
  assert.ok(await client.find(clusterRoles, { name: "klutch-bind-konnector:dbs.example.org" }));
});

test("the API server takes every object of every variant", async () => {
  await apply([namespaceObject(backendPolicyName)]);
  await installKinds(client, await foreignKinds());
  const rendered: Rendered[] = [];
  for (const values of [minimal.klutch, ...Object.values(variants)])
    rendered.push(...(await helm.template(chartPath("klutch"), values, ...atHome.klutch)));
  const values = { ...everyKonnectorValue, bindings };
  const home = atHome["klutch-konnector"];
  rendered.push(...(await helm.template(chartPath("klutch-konnector"), values, ...home)));
  await apply(rendered, { dryRun: true });
  await assert.rejects(apply([{ ...rendered[0], misspelled: true }], { dryRun: true }), /misspelled/);
});

test("a user who installed by the bundle continues with the chart: the same Deployment, with the Secret that it has", async () => {
  const file = join(helm.folder, "bundle.yaml");
  await writeFile(file, bundleText("install", bundleObjects().install));
  await run(kubectl, ["apply", "-f", file], { env: kubectlEnvironment });
  const before = await client.get<DynamicObject>(deployments, backend);
  const containerIn = (object: unknown): unknown =>
    recordsAt(object, "spec", "template", "spec", "containers")[0];
  const values = {
    ...minimal.klutch,
    oidc: { ...minimal.klutch.oidc, secretName: backendPolicyName, secretKey: "oidc-client-secret" },
    cookies: { secretName: backendPolicyName, signingKey: "cookie-signing-key" },
    packages: { enabled: true },
  };
  await assert.rejects(install("klutch", chartPath("klutch"), values), /invalid ownership metadata/);
  // An API of the operator's own, which only the chart can find out about.
  const template = { namespace: "default", name: "widgets" };
  const claimed = { group: "", resource: "configmaps", version: "v1", selector: { owner: "Provider" } };
  const spec = {
    APIServiceSelector: { group: "example.org", resource: "widgets" },
    permissionClaims: [claimed],
  };
  await waitFor("templates to be served", () =>
    client.create(apiServiceExportTemplates, objectOfType(apiServiceExportTemplates, template, { spec })),
  );
  await install("klutch", chartPath("klutch"), values, "--take-ownership");
  const offers = await client.get<Role>(clusterRoles, { name: "klutch-backend-claims-konnectors" });
  assert.deepEqual(offers.rules?.slice(1), [
    { apiGroups: [""], resources: ["configmaps"], verbs: ["offer"] },
    { apiGroups: ["example.org"], resources: ["widgets"], verbs: ["offer"] },
  ]);
  // Helm merges the list of variables with the existing one.
  const left = recordsAt(containerIn(before), "env")
    .filter((variable) => textAt(variable, "valueFrom", "configMapKeyRef", "name") !== undefined)
    .map(({ name }) => `${String(name)}-`);
  const unset = ["set", "env", "--namespace", backendPolicyName, `deployment/${backendPolicyName}`, ...left];
  await run(kubectl, unset, { env: kubectlEnvironment });
  const after = await client.get<DynamicObject>(deployments, backend);
  assert.equal(after.metadata.uid, before.metadata.uid);
  const rendered = await helm.template(chartPath("klutch"), values, ...atHome.klutch);
  const names = (container: unknown): readonly string[] =>
    recordsAt(container, "env")
      .map((variable) => textAt(variable, "name") ?? "")
      .toSorted();
  const wanted = containerIn(objectOf(rendered, "Deployment"));
  assert.deepEqual(names(containerIn(after)), names(wanted), "nothing is left of the bundle's settings");
  assert.deepEqual(listAt(containerIn(after), "args"), listAt(wanted, "args"));
  await helm.run("uninstall", "klutch", ...atHome.klutch);
});

test("kinds come first and only go forward; a rollback takes the rest back; removing leaves kinds and packages", async () => {
  const values = { ...minimal.klutch, packages: { enabled: true } };
  const [old, current] = [await olderChart(), chartPath("klutch")];
  // Imitates a kind that an agent or a person's kubectl made.
  const bindingKind = { name: apiServiceBindingCrd.metadata.name };
  const unmarked = { metadata: { annotations: { [releaseAnnotation]: null } } };
  await client.mergePatch(customResourceDefinitions, bindingKind, unmarked);
  await assert.rejects(
    install("klutch", old, values),
    /^crds\.check: is true, .* older kinds than v0\.1\.0: apiservicebindings\.klutch\.anynines\.com \(of no known release\); must be upgraded first: helm show crds/m,
  );
  await upgradeKinds(old);
  await install("klutch", old, values);
  assert.deepEqual([await columns(), await imageTag()], [0, "v0.1.0"]);
  await assert.rejects(install("klutch", current, values), /apiserviceexports\.\S+ \(of v0\.1\.0\)/);
  await upgradeKinds(current);
  const notes = await install("klutch", current, values);
  assert.match(
    notes,
    /NOTES:\n.*configuration\/templates\/.*\n.*kubectl bind https:\/\/klutch\.example\.org\/export/,
  );
  const upgraded = await columns();
  assert.ok(upgraded > 0);
  assert.equal(await imageTag(), klutchVersion);
  await helm.run("rollback", "klutch", "1", ...atHome.klutch);
  assert.deepEqual([await columns(), await imageTag()], [upgraded, "v0.1.0"]);
  await install("klutch", old, { ...values, replicas: 3 });
  assert.equal(await columns(), upgraded, "an older chart leaves newer kinds alone");
  await helm.run("uninstall", "klutch", ...atHome.klutch);
  for (const [type, ref] of [
    [deployments, backend],
    [clusterRoles, { name: backendPolicyName }],
    [validatingAdmissionPolicies, { name: backendPolicyName }],
  ] as const)
    assert.equal(await client.find(type, ref), undefined);
  assert.equal(await columns(), upgraded, "with a kind all its objects would go");
  assert.ok(await client.find(providers, { name: providerName }), "and with a package all databases");
  await install("klutch", current, values);
  assert.ok(await client.find(deployments, backend), "what stayed is no obstacle");
});

test("kinds of a newer release are refused by name: by the chart, and by the API server when older ones are applied over them", async () => {
  const name = { name: exportsKind };
  const { spec } = await client.get<DynamicObject>(customResourceDefinitions, name);
  const [version] = recordsAt(spec, "versions");
  const versions = [
    { ...version, served: false, storage: false },
    { ...version, name: "v1beta1" },
  ];
  await client.mergePatch(customResourceDefinitions, name, { spec: { versions } });
  await waitFor("the version to be stored", async () => {
    const { status } = await client.get<DynamicObject>(customResourceDefinitions, name);
    return listAt(status, "storedVersions").includes("v1beta1");
  });
  const newer =
    /^crds\.check: is true, and the cluster has kinds of a newer release, .*: apiserviceexports\.\S+ \(serves v1beta1, not v1alpha1\); must be the chart of/m;
  await assert.rejects(install("klutch", chartPath("klutch"), minimal.klutch), newer);
  const refused = /status\.storedVersions\[1\]: Invalid value: "v1beta1": missing from spec\.versions/;
  await assert.rejects(upgradeKinds(chartPath("klutch")), refused);
});

/** Counts the columns that `kubectl get` shows of an export. The older chart's kinds have none. */
async function columns(): Promise<number> {
  const crd = await client.get<DynamicObject>(customResourceDefinitions, { name: exportsKind });
  return recordsAt(recordsAt(crd.spec, "versions")[0], "additionalPrinterColumns").length;
}

async function imageTag(): Promise<string | undefined> {
  const deployment = await client.get<DynamicObject>(deployments, backend);
  const [container] = recordsAt(deployment.spec, "template", "spec", "containers");
  return textAt(container, "image")?.split(":").at(-1);
}

/** Applies the chart's kinds, as the refusal and the chart's page advise. */
async function upgradeKinds(chart: string): Promise<void> {
  await apply(parseYamlDocuments(await helm.run("show", "crds", chart)).filter(isRecord));
}

/** The chart as an older release may have had it. */
async function olderChart(): Promise<string> {
  const folder = join(helm.folder, "older");
  await cp(chartPath("klutch"), folder, { recursive: true });
  const change = async (path: string, edit: (text: string) => string): Promise<void> => {
    const text = await readFile(join(folder, path), "utf8");
    await writeFile(join(folder, path), edit(text));
  };
  await change("Chart.yaml", (text) =>
    text.replaceAll(/^(version: |appVersion: v).*$/gm, (_, name) => `${name}0.1.0`),
  );
  for (const name of await readdir(join(folder, "crds")))
    await change(`crds/${name}`, (text) =>
      text
        .replaceAll(klutchVersion, "v0.1.0")
        .replaceAll(/^ {6}additionalPrinterColumns:\n(?: {8}.*\n)+/gm, ""),
    );
  return folder;
}
