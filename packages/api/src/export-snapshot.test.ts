import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { problemsOf } from "@klutch/schema";
import { bindCrds, providerCrds } from "./crds.ts";
import { crdFromExport, ExportError, exportFromCrd } from "./export-snapshot.ts";
import { exportVersion } from "./kinds/api-service-export.ts";

const schema = { openAPIV3Schema: { type: "object" } };
interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
}
const crd = (
  versions: readonly object[],
  strategy?: string,
): { metadata: { name: string }; spec: unknown } => ({
  metadata: { name: "dbs.example.org" },
  spec: {
    group: "example.org",
    names: { kind: "Db", plural: "dbs", singular: "db", listKind: "DbList" },
    scope: "Namespaced",
    versions: versions.map((version) => ({ schema, ...version })),
    ...(strategy === undefined ? {} : { conversion: { strategy } }),
  },
});
const exported = (versions: readonly object[], strategy?: string): readonly (readonly [string, boolean])[] =>
  exportFromCrd(crd(versions, strategy)).spec.versions.map(({ name, storage }) => [name, storage]);

const v1: Version = { name: "v1", served: true, storage: true };
const v1beta1: Version = { name: "v1beta1", served: true, storage: false };

test("only served versions are exported", () => {
  assert.deepEqual(exported([{ ...v1beta1, served: false }, v1]), [["v1", true]]);
});

test("behind a conversion webhook one version is exported, the stored one if it is served", () => {
  assert.deepEqual(exported([v1beta1, v1], "Webhook"), [["v1", true]]);
  assert.deepEqual(exported([v1beta1, v1], "None"), [
    ["v1beta1", false],
    ["v1", true],
  ]);
  assert.deepEqual(exported([v1beta1, { ...v1, served: false }], "Webhook"), [["v1beta1", true]]);
});

test("behind a conversion webhook a version that is exported already stays for as long as it is served", () => {
  const names = (versions: readonly object[], ...present: readonly string[]): readonly string[] =>
    exportFromCrd(crd(versions, "Webhook"), present).spec.versions.map(({ name }) => name);
  assert.deepEqual(names([v1beta1, v1], "v1beta1"), ["v1beta1"]);
  assert.deepEqual(names([{ ...v1beta1, served: false }, v1], "v1beta1"), ["v1"]);
  assert.deepEqual(names([v1beta1, v1], "v1beta1", "v1"), ["v1"], "of several the stored one");
  const { spec } = exportFromCrd(crd([v1beta1, v1]), ["v1beta1"]);
  assert.equal(spec.versions.length, 2, "without a webhook all are exported");
});

test("a CRD whose stored version is not served gives an export that can be applied", () => {
  assert.deepEqual(exported([v1beta1, { ...v1, served: false }]), [["v1beta1", true]]);
});

test("an export always has exactly one stored version, and all it has are served", () => {
  const version = fc.record({
    served: fc.boolean(),
    strategy: fc.constantFrom(undefined, "None", "Webhook"),
  });
  fc.assert(
    fc.property(fc.array(version, { minLength: 1, maxLength: 5 }), fc.nat({ max: 4 }), (flags, stored) => {
      const versions = flags.map(({ served }, index) => ({
        name: `v${index + 1}`,
        served,
        storage: index === stored % flags.length,
      }));
      const source = crd(versions, flags[0]?.strategy);
      if (!flags.some(({ served }) => served)) {
        assert.throws(() => exportFromCrd(source), /serves no version/);
        return;
      }
      const { spec } = exportFromCrd(source);
      assert.equal(spec.versions.filter(({ storage }) => storage).length, 1);
      assert.ok(spec.versions.every(({ served }) => served));
      for (const item of spec.versions) assert.deepEqual(problemsOf(exportVersion.json, item), []);
    }),
  );
});

test("an export and its CRD say the same: all of Klutch's own CRDs come back as they were", () => {
  for (const source of [...bindCrds, ...providerCrds]) {
    const { spec, hash } = exportFromCrd(source);
    const copy = crdFromExport(spec);
    assert.deepEqual(copy.spec, { ...source.spec, conversion: { strategy: "None" } });
    assert.equal(exportFromCrd(copy).hash, hash);
  }
});

test("the columns of Crossplane that would be empty in app clusters are not exported", () => {
  const column = (name: string, jsonPath: string): object => ({ name, type: "string", jsonPath });
  const kept = [column("READY", ".status.ready"), column("NAME-OF-MY-OWN", ".spec.secret")];
  const secret = column("CONNECTION-SECRET", ".spec.writeConnectionSecretToRef.name");
  const columnsOf = (columns: readonly object[]): unknown =>
    exportFromCrd(crd([{ ...v1, additionalPrinterColumns: columns }])).spec.versions[0]
      ?.additionalPrinterColumns;
  const composition = column("COMPOSITION", ".spec.crossplane.compositionRef.name");
  const revision = column("COMPOSITIONREVISION", ".spec.crossplane.compositionRevisionRef.name");
  assert.deepEqual(columnsOf([...kept, secret, composition, revision]), kept);
  assert.deepEqual(columnsOf([secret]), []);
});

test("the hash follows every change of the schema and nothing else", () => {
  const one = exportFromCrd(crd([v1]));
  assert.match(one.hash, /^[0-9a-zA-Z]{30,39}$/);
  assert.equal(exportFromCrd(crd([{ storage: true, served: true, name: "v1" }])).hash, one.hash);
  assert.notEqual(exportFromCrd(crd([{ ...v1, deprecated: true }])).hash, one.hash);
  const described = { openAPIV3Schema: { type: "object", description: "x" } };
  assert.notEqual(exportFromCrd(crd([{ ...v1, schema: described }])).hash, one.hash);
});

test("the CRD in the app cluster belongs to its binding", () => {
  const owner = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    name: "dbs.example.org",
    uid: "u",
  };
  const { metadata } = crdFromExport(exportFromCrd(crd([v1])).spec, owner);
  assert.deepEqual(metadata, { name: "dbs.example.org", ownerReferences: [owner] });
});

const refusals: readonly (readonly [string, { metadata: { name: string }; spec?: unknown }, RegExp])[] = [
  ["is no CRD", { metadata: { name: "x" } }, /x is not a CustomResourceDefinition: spec: is nothing/],
  [
    "lacks names",
    { metadata: { name: "x" }, spec: { group: "g", scope: "Namespaced", versions: [] } },
    /spec\.names: is missing/,
  ],
  [
    "has a version without a schema",
    crd([{ ...v1, schema: undefined }]),
    /version v1 of CustomResourceDefinition dbs\.example\.org has no schema/,
  ],
  [
    "has a version of another name",
    crd([{ ...v1, name: "stable" }]),
    /version stable .* cannot be exported: name/,
  ],
];
for (const [what, source, message] of refusals) {
  test(`what ${what} cannot be exported, and the reason is reported`, () => {
    assert.throws(
      () => exportFromCrd(source),
      (error) => {
        assert.ok(error instanceof ExportError);
        assert.match(error.message, message);
        return true;
      },
    );
  });
}
