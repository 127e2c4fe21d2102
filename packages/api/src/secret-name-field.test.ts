import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@klutch/kube-core";
import type { APIServiceExportTemplate } from "./kinds/api-service-export-template.ts";
import { secretNameFieldAnnotation } from "./names.ts";
import { checkSecretNameField, secretNameFieldOf } from "./secret-name-field.ts";

const text = { type: "string" };
const schema = {
  properties: {
    spec: { properties: { secretName: text, size: { type: "integer" } } },
    status: { properties: { binding: { properties: { name: text } } } },
  },
};
const crd: KubeObject & { readonly spec: object } = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.org" },
  spec: { versions: [{ name: "v1", schema: { openAPIV3Schema: schema } }] },
};

function saying(field?: string): APIServiceExportTemplate {
  const annotations = field === undefined ? {} : { [secretNameFieldAnnotation]: field };
  return {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "a", name: "widgets", annotations },
    spec: { APIServiceSelector: { group: "example.org", resource: "widgets" } },
  };
}

test("a text field of spec or status can be named, and no field has to be", () => {
  for (const field of ["spec.secretName", "status.binding.name"]) {
    checkSecretNameField(crd, saying(field));
    assert.equal(secretNameFieldOf(saying(field)), field);
  }
  checkSecretNameField(crd, saying());
  checkSecretNameField(crd, undefined);
  assert.equal(secretNameFieldOf(saying()), undefined);
});

test("another field is refused with its value, and with one that would be right", () => {
  for (const field of [
    "spec.size",
    "spec.none",
    "spec.binding.name",
    "metadata.name",
    "secretName",
    "",
    "spec",
  ])
    assert.throws(
      () => checkSecretNameField(crd, saying(field)),
      new RegExp(
        `${secretNameFieldAnnotation} of APIServiceExportTemplate a/widgets is "${field}"; it must name a text field of widgets\\.example\\.org, such as spec\\.secretName`,
      ),
      field,
    );
});

test("an export of strangers whose annotation is no path names no field", () => {
  for (const value of [
    "spec.__proto__",
    "spec..name",
    "spec.a b",
    `spec${".a".repeat(10)}`,
    7,
    null,
    ["spec.a"],
  ])
    assert.equal(
      secretNameFieldOf({ metadata: { annotations: { [secretNameFieldAnnotation]: value } } }),
      undefined,
      String(value),
    );
  for (const object of [undefined, null, 7, {}, { metadata: { annotations: "x" } }])
    assert.equal(secretNameFieldOf(object), undefined);
});
