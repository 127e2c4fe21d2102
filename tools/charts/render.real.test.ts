/** Tests that the charts render the same objects as other ways to install, and follow their values. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type AnsweredPermissionClaim,
  artefact,
  bindCrds,
  acceptedClaimsAnnotation,
  apiLimit,
  boundApiRoleManifests,
  claimMarks,
  configurationName,
  functionName,
  klutchVersion,
  konnectorManifests,
  konnectorPolicyManifests,
  konnectorScopeOf,
  namespacedConfigurationName,
  packageArtefacts,
  parseAcceptedClaims,
  parseRegistry,
  providerName,
} from "@klutch/api";
import { parseYamlDocuments } from "@klutch/kube";
import { isRecord, listAt, recordAt, recordsAt, textAt, valueAt } from "@klutch/kube-core";
import { backendRbac, consoleRbac, controlPlaneModeRbac } from "../generate/backend-manifests.ts";
import { releaseAnnotation } from "./chart.ts";
import { chartPath, objectOf, type Rendered, startHelm } from "./testing/helm.ts";
import { atHome, everyKonnectorValue, minimal, variants } from "./testing/values.ts";

const helm = await startHelm();
after(() => helm[Symbol.asyncDispose]());

const konnector = (values: object): Promise<readonly Rendered[]> =>
  helm.template(chartPath("klutch-konnector"), values, ...atHome["klutch-konnector"]);
const klutch = (values: object): Promise<readonly Rendered[]> =>
  helm.template(chartPath("klutch"), values, ...atHome.klutch);

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
/** Indexes objects by kind and name, because their order has no meaning. */
const byName = (objects: readonly object[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    objects.map((each) => [`${textAt(each, "kind")} ${textAt(each, "metadata", "name")}`, plain(each)]),
  );
const podOf = (objects: readonly Rendered[]): Rendered =>
  recordAt(objectOf(objects, "Deployment"), "spec", "template", "spec");
const containerOf = (objects: readonly Rendered[]): Rendered =>
  recordsAt(podOf(objects), "containers")[0] ?? {};
const kinds = (objects: readonly Rendered[]): readonly string[] =>
  [...new Set(objects.map((each) => textAt(each, "kind") ?? ""))].toSorted();

test("both charts pass Helm's linter", async () => {
  await helm.run("lint", "--strict", chartPath("klutch"), chartPath("klutch-konnector"));
});

test("the konnector's chart gives what the plugin installs, object by object, and a PodDisruptionBudget", async () => {
  const all = konnectorManifests({ image: artefact("konnector") });
  const rendered = await helm.template(
    chartPath("klutch-konnector"),
    { namespace: { create: true } },
    "--namespace",
    "elsewhere",
  );
  const budget = objectOf(rendered, "PodDisruptionBudget");
  assert.deepEqual(byName(rendered), byName([...all, budget]));
  const inNamespace = all.filter(({ kind }) => kind !== "Namespace");
  assert.deepEqual(byName(await konnector({})), byName([...inNamespace, budget]));
});

const claim = { resource: "things", group: "example.org", version: "v1", state: "Accepted" } as const;
const consumer = { owner: "Consumer" } as const;
const answered: readonly AnsweredPermissionClaim[] = [
  claim,
  { ...claim, state: "Rejected", resource: "others" },
  { resource: "secrets", version: "v1", state: "Accepted" },
  { resource: "configmaps", group: "", version: "v1", state: "Accepted", selector: consumer },
  { ...claim, resource: "reads", selector: consumer },
  { ...claim, resource: "fields", selector: consumer, update: { fields: ["spec.a"] } },
  { ...claim, resource: "empty", selector: consumer, update: { fields: [] } },
  {
    ...claim,
    resource: "labels",
    selector: consumer,
    update: { labelsOnConsumerOwnedObjects: [{ pattern: "a" }] },
  },
  {
    ...claim,
    resource: "notes",
    selector: consumer,
    update: { annotationsOnConsumerOwnedObjects: [{ pattern: "a" }] },
  },
  { ...claim, resource: "adopted", selector: consumer, autoAdopt: true },
  { ...claim, resource: "donated", selector: consumer, autoDonate: true },
  { ...claim, resource: "provided", selector: { owner: "Provider" } },
  { ...claim, resource: "named", selector: { names: ["a", "b.c"] } },
  { ...claim, resource: "readable", selector: { ...consumer, names: ["a"] } },
  { ...claim, resource: "many", selector: { names: "abcdefghijk".split("") } },
  {
    ...claim,
    resource: "exact",
    selector: { names: ["a", "b", "no name"], namespaces: ["x", "y"] },
    create: { replaceExisting: true },
    read: { overrideAnnotations: [{ pattern: "c/*" }], labelsOnProviderOwnedObjects: [{ pattern: "d" }] },
    update: {
      fields: ["$.data['tls.crt']", 'data["a b"]', " spec.b "],
      labels: [{ pattern: "e.org/*" }],
      annotations: [{ pattern: "'" }],
      annotationsOnConsumerOwnedObjects: [{ pattern: "*/seen" }],
    },
  },
];

test("a binding from values has the rights that the plugin would give the konnector and people", async () => {
  const name = "dbs.example.org";
  const bindings = [{ name, secretName: "kubeconfig-x", permissionClaims: answered }];
  const rendered = await konnector({ bindings });
  for (const manifest of boundApiRoleManifests({ resource: "dbs", group: "example.org" }, answered)) {
    const found = objectOf(rendered, manifest.kind, manifest.metadata.name);
    const { annotations, ...metadata } = recordAt(found, "metadata");
    const record = manifest.metadata.annotations?.[acceptedClaimsAnnotation];
    const { [acceptedClaimsAnnotation]: text, ...others } = recordAt(annotations);
    assert.deepEqual(others, { "helm.sh/resource-policy": "keep" });
    assert.deepEqual(
      parseAcceptedClaims(typeof text === "string" ? text : undefined),
      parseAcceptedClaims(record),
    );
    const { annotations: _record, ...own } = manifest.metadata;
    assert.deepEqual({ ...found, metadata }, plain({ ...manifest, metadata: own }));
  }
  assert.deepEqual(recordAt(objectOf(rendered, "APIServiceBinding"), "spec"), {
    kubeconfigSecretRef: { name: "kubeconfig-x", namespace: "klutch-bind", key: "kubeconfig" },
    permissionClaims: answered,
  });
});

test("the konnector is confined as the plugin confines it, by its bindings and accepted claims", async () => {
  const types = {
    fieldSelectors: ["type=example.org/z,metadata.name=a", " type == b", "type==Opaque , type=A.b/c"],
  };
  const secrets = { resource: "secrets", version: "v1", state: "Accepted", selector: types } as const;
  const bound = [
    { name: "dbs.example.org", claims: answered },
    {
      name: "caches.example.org",
      claims: [secrets, { ...secrets, state: "Rejected", selector: { fieldSelectors: ["type=no"] } }],
    },
  ] as const;
  const bindings = bound.map(({ name, claims }) => ({ name, secretName: "x", permissionClaims: claims }));
  const rendered = await konnector({ bindings });
  for (const manifest of konnectorPolicyManifests(konnectorScopeOf(bound)))
    assert.deepEqual(objectOf(rendered, manifest.kind, manifest.metadata.name), plain(manifest));
  const without = await konnector({ bindings, admissionPolicy: { enabled: false } });
  assert.throws(() => objectOf(without, "ValidatingAdmissionPolicy", "klutch-konnector"));
  const isPolicy = (kind: string): boolean => kind.startsWith("Validating");
  assert.ok(!kinds(await konnector({})).some(isPolicy), "the plugin may have bound what files do not show");
  const [empty] = konnectorPolicyManifests({ apis: [], claims: [], secretTypes: [] });
  const asked = await konnector({ admissionPolicy: { enabled: true } });
  assert.deepEqual(objectOf(asked, "ValidatingAdmissionPolicy"), plain(empty));
});

test("the policies that tell the provider's limit are the plugin's, one for each binding", async () => {
  const bindings = ["dbs.example.org", "caches.other.example.org"].map((name) => ({ name, secretName: "x" }));
  const rendered = await konnector({ bindings });
  for (const manifest of bindings.flatMap(({ name }) => apiLimit.manifestsOf(name)))
    assert.deepEqual(objectOf(rendered, manifest.kind, manifest.metadata.name), plain(manifest));
});

test("the policies that mark new claims are the plugin's, and there where they are asked for and the cluster serves them", async () => {
  const bindings = ["dbs.example.org", "caches.other.example.org"].map((name) => ({ name, secretName: "x" }));
  const values = { bindings, marksAtAdmission: { enabled: true } };
  const served = "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy";
  const at = (given: object, ...flags: readonly string[]): Promise<readonly Rendered[]> =>
    helm.template(chartPath("klutch-konnector"), given, ...atHome["klutch-konnector"], ...flags);
  const rendered = await at(values, served);
  for (const manifest of bindings.flatMap(({ name }) => claimMarks.manifestsOf(name)))
    assert.deepEqual(objectOf(rendered, manifest.kind, manifest.metadata.name), plain(manifest));
  for (const without of [await at({ bindings }, served), await at(values, "--kube-version=1.30.0")])
    assert.ok(!kinds(without).some((kind) => kind.startsWith("Mutating")), "off by default, or not served");
});

test("the konnector's values reach its Pods, large numbers as they are", async () => {
  const rendered = await konnector(everyKonnectorValue);
  const pod = podOf(rendered);
  assert.deepEqual(containerOf(rendered)["args"], [
    "--lease-namespace=$(POD_NAMESPACE)",
    "--log-level=debug",
    "--mass-deletion-limit=0",
    "--provider-objects-limit=2000000",
  ]);
  assert.equal(containerOf(rendered)["imagePullPolicy"], "Always");
  assert.deepEqual(pod["imagePullSecrets"], [{ name: "registry" }]);
  const [spread] = recordsAt(pod, "topologySpreadConstraints");
  assert.deepEqual(valueAt(spread, "labelSelector"), { matchLabels: { app: "konnector" } });
  const template = recordAt(objectOf(rendered, "Deployment"), "spec", "template", "metadata");
  assert.deepEqual(template, { labels: { app: "konnector", team: "data" }, annotations: { a: "b" } });
});

test("the control plane's account, rights, policy and kinds are those of deploy/", async () => {
  const rendered = byName(await klutch(minimal.klutch));
  for (const [name, manifest] of Object.entries(byName(backendRbac().slice(1))))
    assert.deepEqual(rendered[name], manifest, name);
  const annotations = { [releaseAnnotation]: klutchVersion };
  const crds = bindCrds.map((crd) => ({ ...crd, metadata: { ...crd.metadata, annotations } }));
  const shown = parseYamlDocuments(await helm.run("show", "crds", chartPath("klutch"))).filter(isRecord);
  assert.deepEqual(byName(shown), byName(crds));
});

for (const [what, rights, values] of [
  ["control-plane mode", controlPlaneModeRbac(), { controlPlaneMode: true }],
  ["the console", consoleRbac(), { console: { assets: "/console" } }],
] as const)
  test(`the rights of ${what} are given only where it runs`, async () => {
    const wanted = Object.entries(byName(rights));
    assert.equal(wanted.length, 2);
    const without = byName(await klutch(minimal.klutch));
    const rendered = byName(await klutch({ ...minimal.klutch, ...values }));
    for (const [name, manifest] of wanted) {
      assert.equal(without[name], undefined, name);
      assert.deepEqual(rendered[name], manifest, name);
    }
  });

test("the backend may hand out the kinds of the values, and deploy konnectors of the values and of the release", async () => {
  const rulesOf = async (values: object): Promise<unknown> =>
    objectOf(
      await klutch({ ...minimal.klutch, ...values }),
      "ClusterRole",
      "klutch-backend-claims-konnectors",
    )["rules"];
  const deploy = (...resourceNames: readonly string[]): object => ({
    apiGroups: ["klutch.anynines.com"],
    resources: ["konnectors"],
    resourceNames,
    verbs: ["deploy"],
  });
  const registry = { image: { registry: "registry.example.org/klutch" } };
  const own = `registry.example.org/klutch/konnector:${klutchVersion}`;
  assert.deepEqual(await rulesOf(registry), [deploy(own)]);
  const values = {
    konnectorImage: "example.org/mine:1",
    allowedImagePrefixes: ["example.org/team/"],
    offers: ["widgets.example.org", "configmaps", "gadgets.example.org", "widgets.example.org"],
  };
  const offer = { verbs: ["offer"] };
  assert.deepEqual(await rulesOf(values), [
    deploy("example.org/team/", "example.org/mine:1"),
    { apiGroups: [""], resources: ["configmaps"], ...offer },
    { apiGroups: ["example.org"], resources: ["gadgets", "widgets"], ...offer },
  ]);
});

test("both charts keep a Pod through a drain, if there is another one to take over", async () => {
  const charts = [
    [konnector, {}, "konnector"],
    [klutch, minimal.klutch, "klutch-backend"],
  ] as const;
  for (const [render, values, name] of charts) {
    const rendered = await render(values);
    const { minAvailable, selector } = recordAt(objectOf(rendered, "PodDisruptionBudget", name), "spec");
    assert.equal(minAvailable, 1);
    const chosen = recordAt(selector, "matchLabels");
    const labels = recordAt(objectOf(rendered, "Deployment"), "spec", "template", "metadata", "labels");
    assert.deepEqual({ ...labels, ...chosen }, labels);
    const without = [{ replicas: 1 }, { podDisruptionBudget: { enabled: false } }] as const;
    for (const change of without)
      assert.ok(!kinds(await render({ ...values, ...change })).includes("PodDisruptionBudget"));
  }
});

test("kinds of others are made only when a value asks for them", async () => {
  const roles = ["ClusterRole", "ClusterRoleBinding"];
  const pods = ["Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"];
  const usual = [...roles, ...pods, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];
  assert.deepEqual(kinds(await klutch(minimal.klutch)), usual);
  const [ingress, gateway, backend, fleet] = await Promise.all(Object.values(variants).map(klutch));
  const further = (objects: readonly Rendered[] = []): readonly string[] =>
    kinds(objects).filter((kind) => !usual.includes(kind));
  assert.deepEqual(further(ingress), [
    "Certificate",
    "Configuration",
    "DeploymentRuntimeConfig",
    "Function",
    "Ingress",
    "PodMonitor",
    "PrometheusRule",
    "Provider",
    "ServiceMonitor",
  ]);
  assert.deepEqual(further(gateway), ["HTTPRoute"]);
  assert.deepEqual(further(backend), ["ConfigMap"]);
  assert.deepEqual(further(fleet), ["FlowSchema"]);
});

test("a digest wins over the tag, which stays to be read, and another registry serves everything", async () => {
  const digest = `sha256:${"0a".repeat(32)}`;
  const registry = parseRegistry("registry.example.org:5000/mirror");
  const values = { ...variants.ingress, image: { registry, digest } };
  const rendered = await klutch(values);
  assert.equal(containerOf(rendered)["image"], artefact("backend", { registry, digest }));
  assert.equal(
    containerOf(await konnector({ image: { registry, digest, tag: "v9" } }))["image"],
    `${registry}/konnector:v9@${digest}`,
  );
  assert.ok(
    listAt(containerOf(rendered), "args").includes(
      `--konnector-image=${artefact("konnector", { registry })}`,
    ),
  );
  const packages = [
    ["Function", functionName, packageArtefacts.function],
    ["Provider", providerName, packageArtefacts.provider],
    ["Configuration", configurationName, packageArtefacts.configuration],
    ["Configuration", namespacedConfigurationName, packageArtefacts.namespacedConfiguration],
  ] as const;
  for (const [kind, name, artefactName] of packages) {
    const found = objectOf(rendered, kind, name);
    assert.equal(textAt(found, "spec", "package"), artefact(artefactName, { registry }));
    assert.equal(valueAt(found, "metadata", "annotations", "helm.sh/resource-policy"), "keep");
    // Else Crossplane would look for Function and Provider in the registry that the package was built for.
    const skips = valueAt(found, "spec", "skipDependencyResolution");
    assert.equal(skips, kind === "Configuration" ? true : undefined);
  }
  assert.ok(!JSON.stringify(rendered).includes("registry.klutch.example"));
});

test("secrets reach the backend by reference, never by value or argument", async () => {
  const rendered = await klutch(variants.backend);
  const env = recordsAt(containerOf(rendered), "env");
  const secrets = env.flatMap((each) => {
    const { name, key, optional } = recordAt(each, "valueFrom", "secretKeyRef");
    return name === undefined ? [] : [[each["name"], name, key, optional]];
  });
  assert.deepEqual(secrets, [
    ["OIDC_CLIENT_SECRET", "klutch-oidc", "client-secret", undefined],
    ["COOKIE_SIGNING_KEY", "klutch-cookies", "signing-key", undefined],
    ["COOKIE_ENCRYPTION_KEY", "klutch-cookies", "encryption-key", true],
  ]);
  assert.ok(!kinds(rendered).includes("Secret"));
});

test("another authority replaces the Pods, and the same ones leave them", async () => {
  const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
  const template = async (ofLogin: string, ofServer: string): Promise<unknown> => {
    const { oidc, apiServer, ...rest } = minimal.klutch;
    const values = { oidc: { ...oidc, ca: pem(ofLogin) }, apiServer: { ...apiServer, ca: pem(ofServer) } };
    return recordAt(objectOf(await klutch({ ...rest, ...values }), "Deployment"), "spec", "template");
  };
  const before = await template("MA==", "MA==");
  assert.deepEqual(await template("MA==", "MA=="), before);
  assert.notDeepEqual(await template("MQ==", "MA=="), before);
  assert.notDeepEqual(await template("MA==", "MQ=="), before);
});

test("TLS ends at the Ingress when there is one, else at the backend", async () => {
  const [ingress, gateway, backend] = await Promise.all(Object.values(variants).map(klutch));
  assert.ok(ingress !== undefined && gateway !== undefined && backend !== undefined);
  const args = (objects: readonly Rendered[]): string => listAt(containerOf(objects), "args").join("\n");
  const port = (objects: readonly Rendered[]): Rendered | undefined =>
    recordsAt(objectOf(objects, "Service", "klutch-backend"), "spec", "ports")[0];
  assert.deepEqual(port(ingress), { name: "http", port: 80, targetPort: "login" });
  assert.deepEqual(port(backend), { name: "https", port: 8443, targetPort: "login" });
  assert.doesNotMatch(args(ingress), /--tls-/);
  assert.match(args(backend), /--tls-cert-file=.*\n--tls-key-file=/);
  const [tls] = recordsAt(objectOf(ingress, "Ingress"), "spec", "tls");
  const { secretName, dnsNames } = recordAt(objectOf(ingress, "Certificate"), "spec");
  assert.deepEqual(tls, { hosts: dnsNames, secretName });
  const [rule] = recordsAt(objectOf(gateway, "HTTPRoute"), "spec", "rules");
  assert.deepEqual(recordsAt(rule, "backendRefs"), [{ name: "klutch-backend", port: 80 }]);
});

test("no login is asked for where only AppClusterBindings are served", async () => {
  const { apiServer } = minimal.klutch;
  const rendered = await klutch({ apiServer, controlPlaneMode: true });
  const args = listAt(containerOf(rendered), "args").map(String);
  assert.ok(args.includes("--control-plane-mode=true"));
  assert.deepEqual(
    args.filter((each) => each.startsWith("--oidc")),
    [],
  );
});

test("Pods of both charts run as an unprivileged user, write nothing and have no capabilities", async () => {
  for (const objects of [await klutch(minimal.klutch), await konnector({})]) {
    const { securityContext } = podOf(objects);
    const user = [valueAt(securityContext, "runAsNonRoot"), valueAt(securityContext, "runAsUser")];
    assert.deepEqual(user, [true, 65_532]);
    assert.equal(textAt(securityContext, "seccompProfile", "type"), "RuntimeDefault");
    assert.deepEqual(containerOf(objects)["securityContext"], {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
  }
});

test("the release's version is the chart's", async () => {
  const chart = await helm.run("show", "chart", chartPath("klutch"));
  assert.match(chart, new RegExp(`^appVersion: ${klutchVersion}$`, "m"));
  assert.match(chart, new RegExp(`^version: ${klutchVersion.slice(1)}$`, "m"));
});
