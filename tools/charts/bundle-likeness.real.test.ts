/** Chart and bundle of the control plane give the same objects, but for differences that have a name here: who moves from one to the other changes nothing else. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { backendProgram } from "@klutch/backend";
import { parseYamlDocuments } from "@klutch/kube";
import { isRecord, textAt } from "@klutch/kube-core";
import { bundleObjects, bundleText } from "../release/bundles.ts";
import { chartPath, startHelm } from "./testing/helm.ts";
import { atHome, minimal } from "./testing/values.ts";

const helm = await startHelm();
after(() => helm[Symbol.asyncDispose]());

/** The fields of an object, by path. Lists of named things go by name, and arguments by flag. */
function leavesOf(value: unknown, path = ""): readonly (readonly [path: string, value: unknown])[] {
  if (Array.isArray(value))
    return value.flatMap((each: unknown, index) => leavesOf(...inList(each, path, index)));
  if (!isRecord(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, each]) => leavesOf(each, path === "" ? key : `${path}.${key}`));
}

function inList(value: unknown, path: string, index: number): readonly [value: unknown, path: string] {
  const [, flag, given] = /^(--[a-z-]+)=(.*)$/s.exec(typeof value === "string" ? value : "") ?? [];
  if (flag !== undefined) return [given, `${path}.${flag}`];
  return [value, `${path}[${textAt(value, "name") ?? index}]`];
}

const nameOf = (object: object): string => `${textAt(object, "kind")} ${textAt(object, "metadata", "name")}`;

/** Paths at which two objects differ. A flag that says what the program does anyway is none. */
function differences(left: object, right: object): readonly string[] {
  const [one, other] = [new Map(leavesOf(left)), new Map(leavesOf(right))];
  const isStandard = (path: string): boolean => {
    const [, flag = ""] = /\.--([a-z-]+)$/.exec(path) ?? [];
    const standard = backendProgram.flags[flag]?.default;
    return standard !== undefined && [one, other].every((each) => (each.get(path) ?? standard) === standard);
  };
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((path) => one.get(path) !== other.get(path) && !isStandard(path))
    .toSorted();
}

const release = await Promise.all([
  helm.template(chartPath("klutch"), { ...minimal.klutch, packages: { enabled: true } }, ...atHome.klutch),
  helm.run("show", "crds", chartPath("klutch")),
]);
const chart = [...release[0], ...parseYamlDocuments(release[1]).filter(isRecord)];
const bundle = parseYamlDocuments(bundleText("install", bundleObjects().install)).filter(isRecord);

/** Labels of everything that Helm installs. */
const helms = ["instance", "managed-by", "version"].map((key) => `app.kubernetes.io/${key}`);
const labels = (path: string): readonly string[] =>
  [...helms, "helm.sh/chart"].map((key) => `${path}.${key}`);
const container = "spec.template.spec.containers[backend]";
const fromSecret = (name: string, ...keys: readonly string[]): readonly string[] =>
  keys.map((key) => `${container}.env[${name}].valueFrom.secretKeyRef.${key}`);
const fromSettings = (name: string): readonly string[] => [
  `${container}.env[${name}].name`,
  `${container}.env[${name}].valueFrom.configMapKeyRef.key`,
  `${container}.env[${name}].valueFrom.configMapKeyRef.name`,
];

/** Intended differences, by the object's kind. */
const named: Readonly<Record<string, readonly string[]>> = {
  Deployment: [
    ...labels("metadata.labels"),
    ...labels("spec.template.metadata.labels"),
    // The bundle's come from a ConfigMap and a Secret that configure.yaml makes, the chart's from values and Secrets that they name.
    ...["--external-address", "--oidc-callback-url", "--oidc-issuer-client-id", "--oidc-issuer-url"].map(
      (flag) => `${container}.args.${flag}`,
    ),
    ...["API_SERVER_URL", "OIDC_CLIENT_ID", "OIDC_ISSUER_URL", "PUBLIC_URL"].flatMap(fromSettings),
    ...fromSecret("OIDC_CLIENT_SECRET", "key", "name"),
    ...fromSecret("COOKIE_SIGNING_KEY", "key", "name"),
    `${container}.env[COOKIE_ENCRYPTION_KEY].name`,
    ...fromSecret("COOKIE_ENCRYPTION_KEY", "key", "name", "optional"),
  ],
  Service: labels("metadata.labels"),
  // They stay when the chart goes.
  Configuration: ["metadata.annotations.helm.sh/resource-policy"],
  Function: ["metadata.annotations.helm.sh/resource-policy"],
  Provider: ["metadata.annotations.helm.sh/resource-policy"],
};

test("objects of both chart and bundle are the same, field by field, but for the named differences", () => {
  for (const object of bundle) {
    const other = chart.find((each) => nameOf(each) === nameOf(object));
    if (other === undefined) continue;
    const expected = named[textAt(object, "kind") ?? ""] ?? [];
    assert.deepEqual(differences(object, other), expected.toSorted(), nameOf(object));
  }
});

test("objects of only one of them are named, too", () => {
  const names = (objects: readonly object[]): readonly string[] => objects.map(nameOf);
  const without = (left: readonly object[], right: readonly object[]): readonly string[] =>
    names(left)
      .filter((name) => !names(right).includes(name))
      .toSorted();
  // Helm makes the release's namespace.
  assert.deepEqual(without(bundle, chart), ["Namespace klutch-backend"]);
  assert.deepEqual(without(chart, bundle), [
    "NetworkPolicy klutch-backend",
    "PodDisruptionBudget klutch-backend",
  ]);
});
