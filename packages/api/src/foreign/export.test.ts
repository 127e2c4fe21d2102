import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { accepts, problemsOf } from "@klutch/schema";
import { exportSpec } from "../kinds/api-service-export.ts";
import { checkApiFullName, checkApiName } from "./api-name.ts";
import { parseExport } from "./export.ts";
import { changedIn, mutationsOf } from "./testing/mutations.ts";

const good = {
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceExport",
  metadata: { namespace: "cluster-a", name: "widgets.example.org", resourceVersion: "7" },
  spec: {
    group: "example.org",
    names: {
      plural: "widgets",
      singular: "widget",
      kind: "Widget",
      listKind: "WidgetList",
      shortNames: ["wd"],
      categories: ["storage"],
    },
    scope: "Namespaced",
    informerScope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", properties: { spec: { type: "object", default: null } } },
        },
        subresources: { status: {} },
        additionalPrinterColumns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
      },
    ],
    permissionClaims: [{ group: "", resource: "secrets", version: "v1", selector: { owner: "Provider" } }],
  },
  status: {
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
    storedVersions: ["v1"],
  },
};

test("short names and categories of Kubernetes' own kinds, and what steers a terminal in names of columns, do not cross", () => {
  const [version] = good.spec.versions;
  const column = {
    name: "Age\u001b[2J",
    description: "a\u202eb",
    type: "date",
    jsonPath: ".metadata.creationTimestamp",
  };
  const names = {
    ...good.spec.names,
    shortNames: ["po", "wd", "secret", "deploy", "pods", "ingresses", "networkpolicies", "posts"],
    categories: ["all", "storage", "api-extensions", "pods"],
    singular: "pod",
  };
  const versions = [{ ...version, deprecationWarning: "use\rv2", additionalPrinterColumns: [column] }];
  const { spec } = parseExport({ ...good, spec: { ...good.spec, names, versions } });
  assert.deepEqual(spec?.names.shortNames, ["wd", "posts"]);
  assert.deepEqual(spec.names.categories, ["storage"]);
  assert.equal(spec.names.singular, undefined);
  assert.equal(spec.versions[0]?.deprecationWarning, "use v2");
  assert.deepEqual(spec.versions[0]?.additionalPrinterColumns, [
    { ...column, name: "Age [2J", description: "a b" },
  ]);
});

test("only a namespaced DNS group that is neither Kubernetes' nor Klutch's may be shared", () => {
  for (const [group, plural] of [
    ["anynines.com", "postgresqlinstances"],
    ["dataservices.anynines.com", "serviceinstances"],
    ["example.org", "secrets"],
    ["x-k8s.io", "things"],
    ["notk8s.io", "things"],
    ["notklutch.anynines.com", "things"],
  ] as const)
    assert.equal(checkApiName(group, plural), undefined, group);
  const refused: readonly (readonly [string, string, RegExp])[] = [
    ["", "secrets", /built into Kubernetes/],
    ["apps", "deployments", /without a dot/],
    ["batch", "jobs", /without a dot/],
    ["extensions", "things", /without a dot/],
    ["k8s.io", "things", /belongs to Kubernetes/],
    ["rbac.authorization.k8s.io", "clusterroles", /belongs to Kubernetes/],
    ["node.kubernetes.io", "things", /belongs to Kubernetes/],
    ["klutch.anynines.com", "apiservicebindings", /belongs to Klutch/],
    ["example-backend.klutch.anynines.com", "apiserviceexporttemplates", /belongs to Klutch/],
    ["Example.org", "widgets", /DNS name/],
    ["example..org", "widgets", /DNS name/],
    [".example.org", "widgets", /DNS name/],
    ["example.org.", "widgets", /DNS name/],
    ["example.org\n", "widgets", /DNS name/],
    ["*.org", "widgets", /DNS name/],
    [`${"a".repeat(64)}.org`, "widgets", /DNS name/],
    ["example.org", "*", /DNS label/],
    ["example.org", "widgets/status", /DNS label/],
    ["example.org", "", /DNS label/],
    ["example.org", "1widgets", /DNS label/],
    ["example.org", "widgets.v1", /DNS label/],
    ["example.org", "a".repeat(64), /DNS label/],
  ];
  for (const [group, plural, why] of refused) assert.match(checkApiName(group, plural) ?? "allowed", why);
  assert.equal(checkApiFullName("widgets.example.org"), undefined);
  assert.match(checkApiFullName("pods") ?? "", /built into Kubernetes/);
  assert.match(checkApiFullName("deployments.apps") ?? "", /without a dot/);
});

test("an export in order is taken as it is, without the fields that Klutch does not know", () => {
  const { spec, problem, ...head } = parseExport({
    ...good,
    spec: { ...good.spec, webhook: { url: "https://evil.example" }, names: { ...good.spec.names, more: 1 } },
  });
  assert.equal(problem, undefined);
  assert.deepEqual(spec, good.spec);
  assert.deepEqual(head, {
    namespace: "cluster-a",
    name: "widgets.example.org",
    resourceVersion: "7",
    status: good.status,
  });
});

test("null for a field that a Go program did not set is the same as nothing, but not within a schema", () => {
  const { spec } = parseExport({
    ...good,
    spec: { ...good.spec, permissionClaims: null, clusterScopedIsolation: null },
    status: { conditions: null, acceptedNames: null },
  });
  const { permissionClaims: _claims, ...rest } = good.spec;
  assert.deepEqual(spec, rest);
});

const changed = (path: readonly string[], value: unknown): unknown => changedIn(good, path, value);

test("a refusal names the field and what it is", () => {
  const refusals: readonly (readonly [readonly string[], unknown, RegExp])[] = [
    [["spec"], null, /^spec: is null/],
    [["spec", "group"], 5, /^spec\.group: is 5, expected a string/],
    [["spec", "group"], "", /^spec\.group is "".*built into Kubernetes/],
    [
      ["spec", "names", "plural"],
      "gadgets",
      /name the API gadgets\.example\.org, but the export is called "widgets\.example\.org"/,
    ],
    [["spec", "names", "kind"], "Wid get", /^spec\.names\.kind: is "Wid get"/],
    [["spec", "names", "kind"], "", /^spec\.names\.kind: is ""/],
    [["spec", "names", "shortNames", "0"], "\u001b[31m", /^spec\.names\.shortNames/],
    [["spec", "scope"], "Everywhere", /^spec\.scope/],
    [["spec", "versions"], [], /^spec\.versions/],
    [["spec", "versions", "0", "name"], "../v1", /^spec\.versions\[0\]\.name/],
    [["spec", "versions", "0", "schema"], {}, /^spec\.versions\[0\]\.schema\.openAPIV3Schema: is missing/],
    [["spec", "versions", "0", "additionalPrinterColumns", "0"], "x", /additionalPrinterColumns\[0\]/],
    [["spec", "permissionClaims", "0", "resource"], "*", /^spec\.permissionClaims\[0\]\.resource/],
    [["metadata", "name"], 7, /but the export is called ""/],
    [["metadata"], null, /but the export is called ""/],
  ];
  for (const [path, value, message] of refusals)
    assert.match(parseExport(changed(path, value)).problem ?? "taken", message, path.join("."));
});

test("a schema that is too deep, too wide or too long is refused before anything walks through it", () => {
  const schema = ["spec", "versions", "0", "schema", "openAPIV3Schema"];
  let deep: unknown = { type: "string" };
  for (let level = 0; level < 50_000; level++) deep = { type: "array", items: deep };
  assert.match(parseExport(changed(schema, deep)).problem ?? "", /more than 128 levels/);
  const wide = { enum: Array.from({ length: 300_000 }, (_, index) => index) };
  assert.match(parseExport(changed(schema, wide)).problem ?? "", /more than 200000 values/);
  const long = { description: "x".repeat(10 * 1024 * 1024) };
  assert.match(parseExport(changed(schema, long)).problem ?? "", /more than 2097152 characters/);
});

test("whatever is put in the place of any field, the answer is a trusted spec or a refusal", () => {
  fc.assert(
    fc.property(mutationsOf(good), (object) => {
      const { spec, problem, name } = parseExport(object);
      assert.ok((spec === undefined) === (typeof problem === "string" && problem !== ""));
      if (spec === undefined) return;
      assert.equal(checkApiName(spec.group, spec.names.plural), undefined);
      assert.equal(name, `${spec.names.plural}.${spec.group}`);
      assert.deepEqual(problemsOf(exportSpec.json, spec), []);
      assert.ok(accepts(exportSpec, spec));
    }),
    { numRuns: 5_000 },
  );
});
