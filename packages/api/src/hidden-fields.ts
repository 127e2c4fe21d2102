/** Fields of a kind that are the control plane's own, such as what Crossplane adds to its composites: app clusters do not get them. */
import { isRecord, type KubeObject, recordAt, recordsAt } from "@klutch/kube-core";
import { type JsonSchema, valueText } from "@klutch/schema";
import { ExportError } from "./export-snapshot.ts";
import type { APIServiceExportTemplate } from "./kinds/api-service-export-template.ts";
import { hiddenFieldsAnnotation } from "./names.ts";

/**
 * Returns the CRD without the fields that the template hides. The template's annotation lists their paths, separated by commas. Missing fields
 * are ignored; without paths the CRD is returned unchanged. Throws `ExportError` for an invalid path, and for a field without which the
 * provider would refuse every object.
 */
export function withoutHiddenFields(
  crd: KubeObject,
  template: APIServiceExportTemplate | undefined,
): KubeObject {
  const text = template?.metadata.annotations?.[hiddenFieldsAnnotation];
  if (template === undefined || text === undefined) return crd;
  const fields = text.split(",").map((field) => field.trim());
  const versions = recordsAt(crd, "spec", "versions").map((version) => {
    const schema = recordAt(version, "schema");
    const hidden = fields.reduce<JsonSchema>(
      (root, field) => {
        const path = /^[a-zA-Z0-9]+(\.[a-zA-Z0-9]+){0,9}$/.test(field) ? field.split(".") : [];
        if (path.length === 0) throw fault(template, field, "is no path of a field, such as spec.internal");
        const rest = without(root, path);
        if (rest === undefined) throw fault(template, field, "is a field that every object must have");
        return rest;
      },
      recordAt(schema, "openAPIV3Schema"),
    );
    return { ...version, schema: { ...schema, openAPIV3Schema: hidden } };
  });
  return { ...crd, spec: { ...recordAt(crd, "spec"), versions } };
}

/** Removes one field. Returns undefined if its parent requires it. */
function without(schema: JsonSchema, [name = "", ...rest]: readonly string[]): JsonSchema | undefined {
  const properties = recordAt(schema, "properties");
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (!isRecord(property)) return schema;
  if (rest.length > 0) {
    const inner = without(property, rest);
    return inner === undefined ? undefined : { ...schema, properties: { ...properties, [name]: inner } };
  }
  const { required } = schema;
  if (Array.isArray(required) && required.includes(name)) return undefined;
  const { [name]: _hidden, ...others } = properties;
  return { ...schema, properties: others };
}

function fault({ metadata }: APIServiceExportTemplate, field: string, what: string): ExportError {
  return new ExportError(
    `annotation ${hiddenFieldsAnnotation} of APIServiceExportTemplate ${metadata.namespace ?? ""}/${metadata.name ?? ""}: ` +
      `${valueText(field)} ${what}`,
  );
}
