import assert from "node:assert/strict";
import { test } from "node:test";
import { artefact, type ArtefactName, klutchVersion, parseRegistry, releaseRegistry } from "@klutch/api";
import { backendProgram } from "@klutch/backend";
import { brokerProgram } from "@klutch/broker";
import { type KubeObject, listAt, numberAt, recordsAt, textAt } from "@klutch/kube-core";
import { services } from "@klutch/services";
import { type BundleName, bundleNames, bundleObjects, bundleText, variablesOf } from "./bundles.ts";
import { imageDefinitions } from "./images.ts";

const bundles = bundleObjects();

const keyOf = ({ apiVersion, kind, metadata: { namespace = "", name = "" } }: KubeObject): string =>
  [apiVersion, kind, namespace, name].join(" ");
const keysOf = (name: BundleName): ReadonlySet<string> => new Set(bundles[name].map(keyOf));

test("no bundle has an object twice, and what configure writes is in no other", () => {
  for (const name of bundleNames) assert.equal(keysOf(name).size, bundles[name].length, name);
  for (const other of ["install", "install-dev", "update"] as const)
    assert.deepEqual(
      [...keysOf("configure")].filter((key) => keysOf(other).has(key)),
      [],
    );
});

test("update has whole objects of install, all that name an artefact, and no others", () => {
  const naming = bundles.install.filter((object) => JSON.stringify(object).includes(`${releaseRegistry}/`));
  assert.deepEqual(naming, bundles.update);
  for (const object of bundles.install)
    assert.ok(
      bundles["install-dev"].some((one) => keyOf(one) === keyOf(object)),
      keyOf(object),
    );
});

test("only the bundle control-plane-mode has the rights of the mode", () => {
  const keys = [...keysOf("control-plane-mode")];
  assert.deepEqual(
    keys.map((key) => key.split(" ").at(-1)),
    ["klutch-backend-control-plane-mode", "klutch-backend-control-plane-mode"],
  );
  for (const other of bundleNames.filter((name) => name !== "control-plane-mode"))
    assert.deepEqual(
      keys.filter((key) => keysOf(other).has(key)),
      [],
      other,
    );
});

test("provider-kubernetes is in its own two bundles only, and its package is the operator's to name", () => {
  const text = bundleText("provider-kubernetes", bundles["provider-kubernetes"]);
  assert.deepEqual(variablesOf(text), ["PROVIDER_KUBERNETES_PACKAGE"]);
  assert.match(text, /^ {2}package: \$\{PROVIDER_KUBERNETES_PACKAGE\}$/m);
  const configs = bundles["provider-kubernetes-configs"];
  assert.deepEqual(
    configs.map(({ apiVersion, kind, metadata: { name } }) => `${apiVersion} ${kind} ${name}`),
    [
      "kubernetes.crossplane.io/v1alpha1 ProviderConfig kubernetes-provider",
      "kubernetes.m.crossplane.io/v1alpha1 ClusterProviderConfig kubernetes-provider",
    ],
  );
  for (const name of bundleNames.filter((one) => !one.startsWith("provider-kubernetes")))
    assert.doesNotMatch(
      bundleText(name, bundles[name]),
      /klutch-provider-kubernetes|kubernetes\.crossplane\.io\/v/,
      name,
    );
});

test("install brings what Compositions run with, and every kind of Klutch", () => {
  const found = bundles.install.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  for (const wanted of [
    "Function klutch-function-klutch",
    "Provider klutch-provider-anynines",
    "Configuration klutch-configuration-dataservices",
    "CustomResourceDefinition appclusterbindings.klutch.anynines.com",
    "CustomResourceDefinition apiserviceexporttemplates.example-backend.klutch.anynines.com",
  ])
    assert.ok(found.includes(wanted), wanted);
});

test("configure offers APIs in the group whose kind install brings", () => {
  const groups = bundles.install
    .filter(({ kind }) => kind === "CustomResourceDefinition")
    .map((crd) => textAt(crd, "spec", "group"));
  const templates = bundles.configure.filter(({ kind }) => kind === "APIServiceExportTemplate");
  assert.ok(templates.length > services().length);
  for (const { apiVersion } of templates) assert.ok(groups.includes(apiVersion.split("/")[0]), apiVersion);
});

test("every artefact is named in the registry that is asked for, and by its digest", () => {
  const registry = parseRegistry("mirror.example.org:5000/team");
  const digest = `sha256:${"ab".repeat(32)}`;
  const named: readonly ArtefactName[] = [
    "konnector",
    "backend",
    "broker",
    "provider-anynines",
    "function-klutch",
    "configuration-dataservices",
  ];
  const own = bundleObjects({ registry, digests: new Map(named.map((name) => [name, digest])) });
  const text = bundleNames.map((name) => bundleText(name, own[name])).join("");
  assert.ok(!text.includes(releaseRegistry));
  const references = [...text.matchAll(/\S+:v\d+\.\d+\.\d+\S*/g)].map(([reference]) => reference);
  const wanted = named.map((name) => artefact(name, { registry, digest }));
  assert.deepEqual(
    [...new Set(references.map((one) => one.replace(/^--konnector-image=/, "")))].toSorted(),
    wanted.toSorted(),
  );
  assert.equal(text.split(`:${klutchVersion}\n`).length, 1);
});

test("a Pod of a bundle runs as an unprivileged user, writes nothing to its root and cannot become more", () => {
  const pods = bundleNames.flatMap((name) => bundles[name]).filter(({ kind }) => kind === "Deployment");
  assert.equal(pods.length, 5);
  for (const pod of pods) {
    const text = JSON.stringify(pod);
    for (const wanted of [
      '"runAsNonRoot":true',
      '"readOnlyRootFilesystem":true',
      '"allowPrivilegeEscalation":false',
      '"drop":["ALL"]',
    ])
      assert.ok(text.includes(wanted), `${pod.metadata.name}: ${wanted}`);
  }
});

test("a Pod of the backend that ends keeps serving until it gets no more requests, and has time to answer", () => {
  const backend = bundles.install.find(({ kind }) => kind === "Deployment");
  const [container] = recordsAt(backend, "spec", "template", "spec", "containers");
  assert.equal(numberAt(container, "lifecycle", "preStop", "sleep", "seconds"), 5);
  assert.equal(numberAt(backend, "spec", "template", "spec", "terminationGracePeriodSeconds"), 30);
});

test("the backend understands what the bundles start it with", async () => {
  const backend = bundles.update.find(({ kind }) => kind === "Deployment");
  const [container] = recordsAt(backend, "spec", "template", "spec", "containers");
  const values: Readonly<Record<string, string>> = {
    POD_NAMESPACE: "klutch-backend",
    OIDC_ISSUER_URL: "https://idp.example.org",
    OIDC_CLIENT_ID: "klutch",
    PUBLIC_URL: "https://klutch.example.org",
    API_SERVER_URL: "https://api.example.org",
    OIDC_CLIENT_SECRET: "secret",
    COOKIE_SIGNING_KEY: Buffer.alloc(32, 1).toString("base64"),
  };
  const env = recordsAt(container, "env").map((one) => textAt(one, "name") ?? "");
  for (const name of Object.keys(values)) assert.ok(env.includes(name), name);
  const expanded = listAt(container, "args").map((arg) =>
    String(arg).replaceAll(/\$\((\w+)\)/g, (_, name: string) => values[name] ?? `$(${name})`),
  );
  const config = await backendProgram.readConfig({ args: expanded, env: values, randomName: () => "x" });
  assert.equal(config.konnectorImage, artefact("konnector"));
  assert.equal(config.oidc.callbackUrl, "https://klutch.example.org/callback");
  assert.equal(config.leaseNamespace, "klutch-backend");
});

test("the broker is told the node's address and the ports that its Service opens there, each under its own number", async () => {
  const named = (kind: string, name: string): KubeObject | undefined =>
    bundles["install-dev"].find((one) => one.kind === kind && one.metadata.name === name);
  const [container] = recordsAt(
    named("Deployment", "klutch-broker"),
    "spec",
    "template",
    "spec",
    "containers",
  );
  const given = recordsAt(container, "env").map((one) => {
    const field = textAt(one, "valueFrom", "fieldRef", "fieldPath");
    const value = field === "status.hostIP" ? "192.0.2.7" : (textAt(one, "value") ?? "k".repeat(32));
    return [textAt(one, "name") ?? "", value] as const;
  });
  const image = imageDefinitions(parseRegistry(releaseRegistry)).find(({ name }) => name === "broker");
  const env = { ...image?.program?.env, ...Object.fromEntries(given) };
  const { reach } = await brokerProgram.readConfig({ args: [], env, randomName: () => "x" });
  assert.deepEqual(reach, { listen: "0.0.0.0", host: "192.0.2.7", ports: { first: 30_010, last: 30_049 } });
  const ports = recordsAt(named("Service", "klutch-broker-data"), "spec", "ports");
  assert.equal(ports.length, 40);
  for (const [index, port] of ports.entries())
    for (const field of ["port", "targetPort", "nodePort"])
      assert.equal(numberAt(port, field), 30_010 + index);
});

test("configure lists what a site has to say; the other bundles ask for nothing", () => {
  const text = bundleText("configure", bundles.configure);
  for (const name of variablesOf(text)) assert.match(text, new RegExp(`^# ${name}$`, "m"));
  assert.ok(variablesOf(text).includes("POSTGRESQL_BROKER_URL"));
  for (const name of [
    "install",
    "install-dev",
    "update",
    "control-plane-mode",
    "console",
    "konnector",
  ] as const)
    assert.deepEqual(variablesOf(bundleText(name, bundles[name])), [], name);
});
