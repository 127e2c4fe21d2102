import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type APIServiceExport,
  type APIServiceExportTemplate,
  exportFromCrd,
  type PermissionClaim,
  observedGenerationAnnotation,
  readyConditionAnnotation,
  secretNameFieldAnnotation,
  serviceTypeFieldAnnotation,
  revokedAnnotation,
  sourceSpecHashAnnotation,
  withServiceTypes,
} from "@klutch/api";
import { type DynamicObject, recordAt, recordsAt } from "@klutch/kube-core";
import { guarded, planExport } from "./export-plan.ts";

const crd = (fields: object = {}): DynamicObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "dbs.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { plural: "dbs", singular: "db", kind: "Db", listKind: "DbList" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", ...fields } } },
    ],
  },
});
const secrets: PermissionClaim = { group: "", resource: "secrets", version: "v1" };
const template = (...permissionClaims: readonly PermissionClaim[]): APIServiceExportTemplate => ({
  apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
  kind: "APIServiceExportTemplate",
  metadata: { namespace: "default", name: "dbs" },
  spec: { APIServiceSelector: { group: "example.org", resource: "dbs" }, permissionClaims },
});
function exported(...permissionClaims: readonly PermissionClaim[]): APIServiceExport {
  const { spec, hash } = exportFromCrd(crd());
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: {
      namespace: "tenant",
      name: "dbs.example.org",
      annotations: { [sourceSpecHashAnnotation]: hash },
    },
    spec: { ...spec, informerScope: "Namespaced", permissionClaims },
  };
}
const outcome = (plan: ReturnType<typeof planExport>): string =>
  plan.kind === "report" ? `${plan.condition.status} ${plan.condition.reason ?? ""}` : "written";

test("an export that is as its CRD and its template say is in sync and not written", () => {
  assert.equal(outcome(planExport(exported(secrets), crd(), template(secrets), [])), "True ");
});

test("a kind that moves to another version behind a conversion webhook stays in the one that is exported", () => {
  const [version] = recordsAt(crd().spec, "versions");
  const spec = {
    ...recordAt(crd().spec),
    versions: [
      { ...version, storage: false },
      { ...version, name: "v2" },
    ],
    conversion: { strategy: "Webhook" },
  };
  assert.equal(outcome(planExport(exported(secrets), { ...crd(), spec }, template(secrets), [])), "True ");
});

test("without its CRD an export is kept, and says so", () => {
  const plan = planExport(exported(secrets), undefined, template(secrets), []);
  assert.equal(outcome(plan), "False CustomResourceDefinitionNotFound");
});

test("without its template an export loses its claims and then says that the API is not offered", () => {
  const plan = planExport(exported(secrets), crd(), undefined, []);
  assert.deepEqual(plan, { kind: "write", patch: { spec: { permissionClaims: [] } } });
  assert.equal(outcome(planExport(exported(), crd(), undefined, [])), "False NotOffered");
});

test("a revoked export follows its CRD and its template, and says that it is revoked", () => {
  const revoked = (...claims: readonly PermissionClaim[]): APIServiceExport => {
    const { metadata, ...rest } = exported(...claims);
    const annotations = { ...metadata.annotations, [revokedAnnotation]: "2026-01-01T00:00:00Z" };
    return { ...rest, metadata: { ...metadata, annotations } };
  };
  const plan = planExport(revoked(secrets), crd(), template(secrets), []);
  assert.equal(outcome(plan), "False Revoked");
  assert.match(
    plan.kind === "report" ? (plan.condition.message ?? "") : "",
    /dbs\.example\.org at 2026-01-01/,
  );
  assert.equal(outcome(planExport(revoked(), crd(), template(secrets), [])), "written");
  assert.equal(
    outcome(planExport(revoked(), undefined, template(), [])),
    "False CustomResourceDefinitionNotFound",
  );
});

test("claims follow the template also while the CRD is gone", () => {
  const plan = planExport(exported(secrets), undefined, template(), []);
  assert.deepEqual(plan, { kind: "write", patch: { spec: { permissionClaims: [] } } });
});

test("schema and claims are written together, and the version that was seen guards them", () => {
  const plan = planExport(exported(), crd({ description: "new" }), template(secrets), []);
  assert.ok(plan.kind === "write");
  const patch = guarded(plan.patch, "7");
  assert.match(JSON.stringify(patch), /"resourceVersion":"7"/);
  assert.match(JSON.stringify(patch), /source-spec-hash/);
  assert.match(JSON.stringify(patch), /"description":"new"/);
  assert.match(JSON.stringify(patch), /"resource":"secrets"/);
});

test("a kind that app clusters get as a cluster-scoped one stays one", () => {
  const lifted = exported();
  const object: APIServiceExport = {
    ...lifted,
    spec: { ...lifted.spec, scope: "Cluster", clusterScopedIsolation: "Namespaced" },
  };
  const plan = planExport(object, crd({ description: "new" }), template(), []);
  assert.ok(plan.kind === "write");
  assert.match(JSON.stringify(plan.patch), /"scope":"Cluster"/);
});

test("a CRD that cannot be exported is reported and leaves the schema alone", () => {
  const broken = { ...crd(), spec: { group: "example.org" } };
  assert.equal(
    outcome(planExport(exported(), broken, template(), [])),
    "False CustomResourceDefinitionUpdateFailed",
  );
});

test("what a template says of generations is on its exports, and goes when the template no longer says it", () => {
  const name = observedGenerationAnnotation;
  const saying = { ...template(), metadata: { ...template().metadata, annotations: { [name]: "ignore" } } };
  const plan = planExport(exported(), crd(), saying, []);
  assert.deepEqual(plan, { kind: "write", patch: { metadata: { annotations: { [name]: "ignore" } } } });
  const told: APIServiceExport = exported();
  const annotations = { ...told.metadata.annotations, [name]: "ignore" };
  const object = { ...told, metadata: { ...told.metadata, annotations } };
  assert.equal(outcome(planExport(object, crd(), saying, [])), "True ");
  const both = planExport(object, crd({ description: "new" }), template(), []);
  assert.ok(both.kind === "write");
  assert.match(JSON.stringify(both.patch), /"observed-generation":null|observed-generation":null/);
  assert.match(JSON.stringify(both.patch), /source-spec-hash/);
});

test("what a template says of its kind's Secret and readiness is on its exports, and goes with it", () => {
  for (const [name, value, wrong] of [
    [secretNameFieldAnnotation, "spec.secretName", "../secret"],
    [readyConditionAnnotation, "ACK.ResourceSynced", "two words"],
  ] as const) {
    const saying = (said: string): APIServiceExportTemplate => ({
      ...template(),
      metadata: { ...template().metadata, annotations: { [name]: said } },
    });
    const told = { kind: "write", patch: { metadata: { annotations: { [name]: value } } } };
    assert.deepEqual(planExport(exported(), crd(), saying(value), []), told);
    const { metadata, ...rest } = exported();
    const annotations = { ...metadata.annotations, [name]: value };
    const object: APIServiceExport = { ...rest, metadata: { ...metadata, annotations } };
    assert.equal(outcome(planExport(object, crd(), saying(value), [])), "True ");
    const gone = { kind: "write", patch: { metadata: { annotations: { [name]: null } } } };
    for (const other of [template(), saying(wrong)])
      assert.deepEqual(planExport(object, crd(), other, []), gone);
  }
});

test("an export follows the types that are offered, in the field that its template names", () => {
  const field = { type: "string", pattern: "^[a-z]+$" };
  const typed = crd({ properties: { spec: { type: "object", properties: { type: field } } } });
  const metadata = { ...template().metadata, annotations: { [serviceTypeFieldAnnotation]: "spec.type" } };
  const naming = { ...template(), metadata };
  const plan = planExport(exported(), typed, naming, ["mysql", "postgresql"]);
  assert.ok(plan.kind === "write");
  assert.match(JSON.stringify(plan.patch), /"pattern":"\^\[a-z\]\+\$","enum":\["mysql","postgresql"\]/);
  const annotations = recordAt(plan.patch, "metadata", "annotations");
  const { versions } = exportFromCrd(withServiceTypes(typed, naming, ["mysql", "postgresql"])).spec;
  const followed: APIServiceExport = {
    ...exported(),
    metadata: {
      ...exported().metadata,
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([key, value]) => [key, String(value)]),
      ),
    },
    spec: { ...exported().spec, versions },
  };
  assert.equal(outcome(planExport(followed, typed, naming, ["mysql", "postgresql"])), "True ");
  assert.equal(outcome(planExport(followed, typed, naming, ["postgresql"])), "written");
  const wrong = {
    ...naming,
    metadata: { ...metadata, annotations: { [serviceTypeFieldAnnotation]: "spec.kind" } },
  };
  const refused = planExport(exported(), typed, wrong, ["postgresql"]);
  assert.equal(outcome(refused), "False CustomResourceDefinitionUpdateFailed");
});
