/** The condition of a kind of strangers that says what `Ready` says elsewhere. */
import { textAt } from "@klutch/kube-core";
import { valueText } from "@klutch/schema";
import { ExportError } from "./export-snapshot.ts";
import type { APIServiceExportTemplate } from "./kinds/api-service-export-template.ts";
import { readyConditionAnnotation } from "./names.ts";

/** The types that Kubernetes allows, without a domain before them. */
const conditionType = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,98}[A-Za-z0-9])?$/;

/** Reads the annotation of a template or an export; undefined where it names no type of a condition, or `Ready` itself. */
export function readyConditionOf(object: unknown): string | undefined {
  const type = textAt(object, "metadata", "annotations", readyConditionAnnotation);
  return type !== undefined && type !== "Ready" && conditionType.test(type) ? type : undefined;
}

/** Throws `ExportError` if a template has the annotation and names no type of a condition. */
export function checkReadyCondition(template: APIServiceExportTemplate | undefined): void {
  const said = template?.metadata.annotations?.[readyConditionAnnotation];
  if (template === undefined || said === undefined || readyConditionOf(template) !== undefined) return;
  const { namespace = "", name = "" } = template.metadata;
  throw new ExportError(
    `annotation ${readyConditionAnnotation} of APIServiceExportTemplate ${namespace}/${name} is ${valueText(said)}; ` +
      "it must be the type of the condition that stands for Ready, such as ResourceSynced",
  );
}
