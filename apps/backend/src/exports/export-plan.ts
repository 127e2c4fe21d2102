/**
 * Plans an export from its CRD and its template. It never plans a deletion: a missing CRD or template may come back, and a deleted export
 * would take the API from an app cluster for good.
 */
import {
  type APIServiceExport,
  type APIServiceExportTemplate,
  exportFromCrd,
  ExportError,
  observedGenerationAnnotation,
  sourceSpecHashAnnotation,
  withoutHiddenFields,
  readyConditionAnnotation,
  readyConditionOf,
  secretNameFieldAnnotation,
  secretNameFieldOf,
  withServiceTypes,
} from "@klutch/api";
import {
  falseCondition,
  jsonEqual,
  type KubeObject,
  type NewCondition,
  recordAt,
  trueCondition,
} from "@klutch/kube-core";
import { isRevokedExport, revokedCondition } from "../authorization/revoked-exports.ts";

/** A merge patch to write, or, when there is nothing to write, what to report. */
export type ExportPlan =
  | { readonly kind: "write"; readonly patch: Readonly<Record<string, unknown>> }
  | { readonly kind: "report"; readonly condition: NewCondition };

const inSync = "ProviderInSync";

/**
 * `crd` and `template` are undefined when there is none (any more), `types` are those of services that are offered. Claims of a template that
 * is gone are withdrawn.
 */
export function planExport(
  object: APIServiceExport,
  crd: KubeObject | undefined,
  template: APIServiceExportTemplate | undefined,
  types: readonly string[],
): ExportPlan {
  const plan = planContent(object, crd, template, types);
  if (template === undefined) return plan;
  const told = Object.entries({
    [observedGenerationAnnotation]: generationsOf(template),
    [secretNameFieldAnnotation]: secretNameFieldOf(template),
    [readyConditionAnnotation]: readyConditionOf(template),
  }).filter(([name, wanted]) => wanted !== object.metadata.annotations?.[name]);
  if (told.length === 0) return plan;
  const patch = plan.kind === "write" ? plan.patch : {};
  const annotations = {
    ...recordAt(patch, "metadata", "annotations"),
    ...Object.fromEntries(told.map(([name, wanted]) => [name, wanted ?? null])),
  };
  return { kind: "write", patch: { ...patch, metadata: { annotations } } };
}

/** Returns how the template treats generations in the statuses of its kind: `ignore`, or undefined. */
export function generationsOf({ metadata }: APIServiceExportTemplate): "ignore" | undefined {
  return metadata.annotations?.[observedGenerationAnnotation] === "ignore" ? "ignore" : undefined;
}

function planContent(
  object: APIServiceExport,
  crd: KubeObject | undefined,
  template: APIServiceExportTemplate | undefined,
  types: readonly string[],
): ExportPlan {
  const { name = "", annotations } = object.metadata;
  const claims = template?.spec.permissionClaims ?? [];
  const hasClaims = jsonEqual(object.spec.permissionClaims ?? [], claims);
  const changed = hasClaims ? {} : { permissionClaims: claims };
  const present = object.spec.versions.map((version) => version.name);
  const source = crd === undefined ? { fault: missing(name) } : sourceOf(crd, template, types, present);
  if ("fault" in source) {
    return hasClaims ? report(source.fault) : { kind: "write", patch: { spec: changed } };
  }
  const { spec, hash } = source;
  if (annotations?.[sourceSpecHashAnnotation] !== hash) {
    // A kind that app clusters get as a cluster-scoped one stays one.
    const scoped = object.spec.clusterScopedIsolation === "Namespaced" ? { ...spec, scope: "Cluster" } : spec;
    const metadata = { annotations: { [sourceSpecHashAnnotation]: hash } };
    return { kind: "write", patch: { metadata, spec: { ...scoped, ...changed } } };
  }
  if (!hasClaims) return { kind: "write", patch: { spec: changed } };
  if (isRevokedExport(object)) return report(revokedCondition(object));
  return report(template === undefined ? notOffered(name) : trueCondition(inSync));
}

/** `patch`, guarded by the version that it was planned for. */
export function guarded(
  patch: Readonly<Record<string, unknown>>,
  resourceVersion: string | undefined,
): Readonly<Record<string, unknown>> {
  return { ...patch, metadata: { ...recordAt(patch, "metadata"), resourceVersion } };
}

/**
 * Returns the exported form of a kind: its CRD with the template's changes. `present` are the versions that are already exported. Throws
 * `ExportError` if it cannot be exported.
 */
export function snapshotOf(
  crd: KubeObject,
  template: APIServiceExportTemplate | undefined,
  types: readonly string[],
  present: readonly string[] = [],
): ReturnType<typeof exportFromCrd> {
  return exportFromCrd(withServiceTypes(withoutHiddenFields(crd, template), template, types), present);
}

function sourceOf(
  crd: KubeObject,
  template: APIServiceExportTemplate | undefined,
  types: readonly string[],
  present: readonly string[],
): ReturnType<typeof snapshotOf> | { readonly fault: NewCondition } {
  try {
    return snapshotOf(crd, template, types, present);
  } catch (error) {
    if (!(error instanceof ExportError)) throw error;
    const reason = "CustomResourceDefinitionUpdateFailed";
    return { fault: falseCondition(inSync, reason, "Error", error.message) };
  }
}

function missing(name: string): NewCondition {
  const message =
    `CustomResourceDefinition ${name} does not exist in the provider cluster. The export is kept, and continues when the ` +
    "CustomResourceDefinition exists again";
  return falseCondition(inSync, "CustomResourceDefinitionNotFound", "Error", message);
}

function notOffered(name: string): NewCondition {
  const message =
    `No APIServiceExportTemplate selects ${name} any more. Existing objects are synced and can be deleted. New objects and ` +
    "claimed resources are not synced";
  return falseCondition(inSync, "NotOffered", "Error", message);
}

function report(condition: NewCondition): ExportPlan {
  return { kind: "report", condition };
}
