import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type APIServiceExportTemplate,
  hiddenFieldsAnnotation,
  serviceTitleAnnotation,
  serviceBackupsAnnotation,
  serviceTypeFieldAnnotation,
  serviceTypeLabel,
} from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import { offeredApi } from "./offered-api.ts";

const text = { type: "string" };
const reference = { type: "object", required: ["name"], properties: { name: text } };
const plan = { type: "string", description: "The plan: small (1 GiB); with big-iron: huge." };

/** The kind that Crossplane makes of an XRD, with these fields in its spec. */
function kind(properties: object, scope = "Namespaced"): KubeObject {
  const spec = { type: "object", properties };
  const openAPIV3Schema = { type: "object", description: "A database.", properties: { spec } };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
  const names = { kind: "Database", plural: "databases", singular: "database", listKind: "DatabaseList" };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "databases.example.org" },
    spec: { group: "example.org", names, scope, versions },
  };
}

function template(hidden?: string): APIServiceExportTemplate {
  const annotations = hidden === undefined ? {} : { [hiddenFieldsAnnotation]: hidden };
  return {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "default", name: "databases", annotations },
    spec: { APIServiceSelector: { group: "example.org", resource: "databases" } },
  };
}

/** Field as Crossplane describes it. */
const crossplane = {
  type: "object",
  description: "Configures how Crossplane will reconcile this composite resource",
  properties: { compositionRef: reference, compositionUpdatePolicy: text, resourceRefs: { type: "array" } },
};

const namesOf = (properties: object, hidden?: string): readonly string[] | undefined =>
  offeredApi(template(hidden), kind(properties))?.fields.map(({ name }) => name);

test("of both generations of claims people see what they may set, and where they choose the Composition", () => {
  const legacy = { compositionRef: reference, resourceRef: reference, plan };
  assert.deepEqual(namesOf(legacy), ["plan", "compositionRef.name"]);
  assert.deepEqual(namesOf({ crossplane, plan }), ["plan", "crossplane.compositionRef.name"]);
  assert.deepEqual(namesOf({ plan }), ["plan"]);
});

test("what the template hides is not shown, because the app cluster does not get it", () => {
  assert.deepEqual(namesOf({ crossplane, plan }, "spec.crossplane.compositionRef"), ["plan"]);
  assert.deepEqual(namesOf({ crossplane, plan }, "spec.plan"), ["crossplane.compositionRef.name"]);
  assert.equal(offeredApi(template("spec..plan"), kind({ plan })), undefined);
});

test("the API's name, scope and words are those of its kind", () => {
  assert.deepEqual(offeredApi(template(), kind({ plan }, "Cluster")), {
    resource: "databases",
    group: "example.org",
    kind: "Database",
    scope: "Cluster",
    description: "A database.",
    fields: [{ name: "plan", about: plan.description }],
    permissionClaims: [],
    template: { namespace: "default", name: "databases" },
  });
});

test("labels and annotations of the template say which data service the API belongs to", () => {
  const serviceOf = (metadata: object): unknown => {
    const { metadata: own, ...rest } = template();
    const type = { type: "string", enum: ["mariadb", "postgresql"] };
    return offeredApi({ ...rest, metadata: { ...own, ...metadata } }, kind({ plan, type }))?.service;
  };
  const labels = { [serviceTypeLabel]: "postgresql" };
  assert.deepEqual(serviceOf({ labels }), { kind: "own", type: "postgresql", title: "postgresql" });
  const annotations = { [serviceTitleAnnotation]: " Postgre\u001bSQL \n" };
  assert.deepEqual(serviceOf({ labels, annotations }), {
    kind: "own",
    type: "postgresql",
    title: "Postgre SQL",
  });
  const field = (path: string): object => ({ annotations: { [serviceTypeFieldAnnotation]: path } });
  assert.deepEqual(serviceOf(field("spec.type")), { kind: "shared", types: ["mariadb", "postgresql"] });
  const without = { ...annotations, [serviceBackupsAnnotation]: "none" };
  assert.partialDeepStrictEqual(serviceOf({ labels, annotations: without }), { isWithoutBackups: true });
  const needing = { [serviceTypeFieldAnnotation]: "spec.type", [serviceBackupsAnnotation]: "needed" };
  assert.partialDeepStrictEqual(serviceOf({ annotations: needing }), { kind: "shared", needsBackups: true });
  // A field without a list of values, or one that does not exist, belongs to all services.
  for (const path of ["spec.plan", "spec.nothing", "", "__proto__.x"])
    assert.deepEqual(serviceOf(field(path)), { kind: "shared", types: undefined }, path);
  assert.equal(serviceOf({}), undefined);
});
