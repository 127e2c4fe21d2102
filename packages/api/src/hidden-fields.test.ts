import assert from "node:assert/strict";
import { test } from "node:test";
import { type DynamicObject, listAt, recordAt, valueAt } from "@klutch/kube-core";
import { withoutHiddenFields } from "./hidden-fields.ts";
import type { APIServiceExportTemplate } from "./kinds/api-service-export-template.ts";
import { hiddenFieldsAnnotation } from "./names.ts";

const text = { type: "string" };
const crossplane = {
  type: "object",
  required: ["always"],
  properties: { compositionRef: text, resourceRefs: text, always: text },
};
const openAPIV3Schema = {
  type: "object",
  properties: { spec: { type: "object", properties: { size: text, crossplane } } },
};
const crd: DynamicObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "databases.example.org" },
  spec: { versions: [{ name: "v1", schema: { openAPIV3Schema } }] },
};

function hiding(fields: string): APIServiceExportTemplate {
  return {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "default", name: "databases", annotations: { [hiddenFieldsAnnotation]: fields } },
    spec: { APIServiceSelector: { group: "example.org", resource: "databases" } },
  };
}

function fieldsOf(object: object): readonly string[] {
  const [version] = listAt(recordAt(object, "spec"), "versions");
  const spec = valueAt(version, "schema", "openAPIV3Schema", "properties", "spec");
  return [
    ...Object.keys(recordAt(spec, "properties")),
    ...Object.keys(recordAt(spec, "properties", "crossplane", "properties")),
  ];
}

test("only the fields that the template names are hidden, and the CRD itself stays as it is", () => {
  const before = JSON.stringify(crd);
  const after = withoutHiddenFields(crd, hiding("spec.crossplane.resourceRefs, spec.size,spec.none.such"));
  assert.deepEqual(fieldsOf(after), ["crossplane", "compositionRef", "always"]);
  assert.equal(JSON.stringify(crd), before);
  assert.equal(withoutHiddenFields(crd, undefined), crd);
});

test("an invalid path, and a field without which every object would be refused, are reported with the template's name", () => {
  for (const [field, words] of [
    ["spec..x", /default\/databases: "spec\.\.x" is no path of a field, such as spec\.internal/],
    ["", /"" is no path of a field/],
    ["spec.crossplane.always", /"spec\.crossplane\.always" is a field that every object must have/],
  ] as const)
    assert.throws(() => withoutHiddenFields(crd, hiding(field)), words);
});
