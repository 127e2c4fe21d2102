/** Kinds that name a type of data service, such as ServiceBinding, take in app clusters only the types that are offered here. */
import { isRecord, type KubeObject, recordAt, recordsAt, textAt } from "@klutch/kube-core";
import { type JsonSchema, problemsOf, valueText } from "@klutch/schema";
import { ExportError } from "./export-snapshot.ts";
import type { APIServiceExportTemplate } from "./kinds/api-service-export-template.ts";
import { serviceTypeFieldAnnotation } from "./names.ts";

/**
 * The CRD as it is exported by the template: where that names a field, the field takes of the values that it takes only `types`. The same
 * CRD when the template names none, and when none of the types fits. Throws `ExportError` when the CRD has no such field.
 */
export function withServiceTypes(
  crd: KubeObject,
  template: APIServiceExportTemplate | undefined,
  types: readonly string[],
): KubeObject {
  const field = template?.metadata.annotations?.[serviceTypeFieldAnnotation];
  if (template === undefined || field === undefined) return crd;
  const path = /^[a-zA-Z0-9]+(\.[a-zA-Z0-9]+){0,9}$/.test(field) ? field.split(".") : [];
  const versions = recordsAt(crd, "spec", "versions").map((version) => {
    const root = recordAt(version, "schema", "openAPIV3Schema");
    const schema = narrowed(root, path, types);
    return schema === undefined
      ? undefined
      : { ...version, schema: { ...recordAt(version, "schema"), openAPIV3Schema: schema } };
  });
  if (versions.every((version) => version === undefined)) throw noField(template, field);
  const all = recordsAt(crd, "spec", "versions").map((version, index) => versions[index] ?? version);
  return { ...crd, spec: { ...recordAt(crd, "spec"), versions: all } };
}

/** Narrows a text field. Returns undefined if the path leads to no text field. */
function narrowed(
  schema: JsonSchema,
  path: readonly string[],
  types: readonly string[],
): JsonSchema | undefined {
  const [name, ...rest] = path;
  if (name === undefined) {
    if (schema["type"] !== "string") return undefined;
    const possible = types.filter((type) => problemsOf(schema, type).length === 0);
    return possible.length === 0 ? schema : { ...schema, enum: possible, ...explained(schema, possible) };
  }
  const properties = recordAt(schema, "properties");
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  const inner = isRecord(property) ? narrowed(property, rest, types) : undefined;
  return inner === undefined ? undefined : { ...schema, properties: { ...properties, [name]: inner } };
}

/** Number of values of an enum that `kubectl explain` shows; for a longer list it shows the first four and dots. */
const longestShown = 4;

function explained(schema: JsonSchema, types: readonly string[]): JsonSchema {
  if (types.length <= longestShown) return {};
  const about = textAt(schema, "description") ?? "";
  return { description: `${about} One of ${types.join(", ")}.`.trimStart() };
}

function noField({ metadata, spec }: APIServiceExportTemplate, field: string): ExportError {
  const { group = "", resource } = spec.APIServiceSelector;
  return new ExportError(
    `annotation ${serviceTypeFieldAnnotation} of APIServiceExportTemplate ${metadata.namespace ?? ""}/${metadata.name ?? ""} is ` +
      `${valueText(field)}; it must name a text field of ${resource}.${group}, such as spec.serviceInstanceType`,
  );
}
