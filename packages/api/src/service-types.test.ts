import assert from "node:assert/strict";
import { test } from "node:test";
import { type DynamicObject, listAt, valueAt } from "@klutch/kube-core";
import type { APIServiceExportTemplate } from "./kinds/api-service-export-template.ts";
import { serviceTypeFieldAnnotation } from "./names.ts";
import { withServiceTypes } from "./service-types.ts";

const text = { type: "string", pattern: "^[a-z]([-a-z0-9]*[a-z0-9])?$", maxLength: 30 };

function crd(...fields: readonly object[]): DynamicObject {
  const versions = fields.map((field, index) => ({
    name: `v${index + 1}`,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", properties: { serviceInstanceType: field, other: text } } },
      },
    },
  }));
  return { apiVersion: "v1", kind: "CustomResourceDefinition", metadata: { name: "x" }, spec: { versions } };
}

function template(resource: string, metadata: object): APIServiceExportTemplate {
  return {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "default", name: resource, ...metadata },
    spec: { APIServiceSelector: { group: "example.org", resource } },
  };
}
const naming = (field: string): APIServiceExportTemplate =>
  template("bindings", { annotations: { [serviceTypeFieldAnnotation]: field } });

const pathOf = [
  "schema",
  "openAPIV3Schema",
  "properties",
  "spec",
  "properties",
  "serviceInstanceType",
] as const;
const enums = (object: { readonly spec?: unknown }): readonly unknown[] =>
  listAt(object.spec, "versions").map((version) => valueAt(version, ...pathOf, "enum"));

/** Tests on real servers check the output of `kubectl explain`. */
test("more types than kubectl explain shows of an enum stand in the description, fewer do not", () => {
  const description = "Type of the service.";
  const shown = (types: readonly string[], field: object): unknown =>
    listAt(withServiceTypes(crd(field), naming("spec.serviceInstanceType"), types).spec, "versions").map(
      (version) => valueAt(version, ...pathOf, "description"),
    )[0];
  const four = ["cache", "mysql", "queue", "search"];
  assert.equal(shown(four, { ...text, description }), description);
  const all = "One of cache, mysql, queue, search, web.";
  assert.equal(shown([...four, "web"], { ...text, description }), `${description} ${all}`);
  assert.equal(shown([...four, "web"], text), all);
});

test("only the named field is narrowed, in every version that has it, and the CRD itself stays as it is", () => {
  const before = crd(text, text);
  const copy = structuredClone(before);
  const after = withServiceTypes(before, naming("spec.serviceInstanceType"), ["mysql", "search"]);
  assert.deepEqual(enums(after), [
    ["mysql", "search"],
    ["mysql", "search"],
  ]);
  assert.equal(JSON.stringify(after).split('"enum"').length, 3);
  assert.deepEqual(before, copy);
  const one = withServiceTypes(crd(text, { type: "integer" }), naming("spec.serviceInstanceType"), ["mysql"]);
  assert.deepEqual(enums(one), [["mysql"], undefined]);
});

test("a type that the field does not take is not offered by it, and a field without any stays as it is", () => {
  const narrow = (field: object, ...types: readonly string[]): readonly unknown[] =>
    enums(withServiceTypes(crd(field), naming("spec.serviceInstanceType"), types));
  assert.deepEqual(narrow(text, "My_SQL", "search", "s".repeat(31)), [["search"]]);
  assert.deepEqual(narrow({ type: "string", enum: ["mysql", "s3"] }, "mysql", "search"), [["mysql"]]);
  assert.deepEqual(narrow(text), [undefined]);
  assert.deepEqual(narrow({ type: "string", enum: ["s3"] }, "mysql"), [["s3"]]);
});

test("without the annotation, and without a template, nothing is narrowed", () => {
  const plain = crd(text);
  assert.equal(withServiceTypes(plain, template("bindings", {}), ["mysql"]), plain);
  assert.equal(withServiceTypes(plain, undefined, ["mysql"]), plain);
});

test("an annotation that names no text field is refused with its value and what it must name", () => {
  for (const field of [
    "",
    "spec",
    "spec.nothing",
    "spec.serviceInstanceType.x",
    "spec..other",
    "a b",
    "spec.toString",
    "x.".repeat(40),
  ])
    assert.throws(
      () => withServiceTypes(crd(text), naming(field), ["mysql"]),
      (error: unknown) =>
        error instanceof Error &&
        error.message.startsWith(
          "annotation klutch.anynines.com/service-type-field of APIServiceExportTemplate default/bindings is ",
        ) &&
        error.message.endsWith(
          "it must name a text field of bindings.example.org, such as spec.serviceInstanceType",
        ),
      field,
    );
});
