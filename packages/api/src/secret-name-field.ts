/** The field of a kind of strangers that holds the name of the Secret which its operator makes beside the object. */
import { type KubeObject, recordsAt, textAt } from "@klutch/kube-core";
import { valueText } from "@klutch/schema";
import { ExportError } from "./export-snapshot.ts";
import type { APIServiceExportTemplate } from "./kinds/api-service-export-template.ts";
import { secretNameFieldAnnotation } from "./names.ts";

const fieldPath = /^(?:spec|status)(?:\.[a-zA-Z0-9]+){1,9}$/;

/** Reads the annotation of a template or an export; undefined where it names no field of a spec or status. */
export function secretNameFieldOf(object: unknown): string | undefined {
  const field = textAt(object, "metadata", "annotations", secretNameFieldAnnotation);
  return field !== undefined && fieldPath.test(field) ? field : undefined;
}

/** Throws `ExportError` if a template names a field that is no text field of its kind. */
export function checkSecretNameField(crd: KubeObject, template: APIServiceExportTemplate | undefined): void {
  const said = template?.metadata.annotations?.[secretNameFieldAnnotation];
  if (template === undefined || said === undefined) return;
  const path = secretNameFieldOf(template)?.split(".") ?? [];
  const schemaPath = path.flatMap((name) => ["properties", name]);
  const isText = recordsAt(crd, "spec", "versions").some(
    (version) =>
      path.length > 0 && textAt(version, "schema", "openAPIV3Schema", ...schemaPath, "type") === "string",
  );
  if (isText) return;
  const { metadata, spec } = template;
  const { group = "", resource } = spec.APIServiceSelector;
  throw new ExportError(
    `annotation ${secretNameFieldAnnotation} of APIServiceExportTemplate ${metadata.namespace ?? ""}/${metadata.name ?? ""} is ` +
      `${valueText(said)}; it must name a text field of ${resource}.${group}, such as spec.secretName`,
  );
}
