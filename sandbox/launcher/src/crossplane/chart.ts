/** The rights of Crossplane as its Helm chart has them, rendered without Helm: only a name and a namespace are filled in. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseYamlDocuments } from "@klutch/kube";
import { type DynamicObject, isRecord } from "@klutch/kube-core";
import { crossplaneNamespace } from "../context.ts";

const templates = [
  "clusterrole.yaml",
  "clusterrolebinding.yaml",
  "rbac-manager-clusterrole.yaml",
  "rbac-manager-clusterrolebinding.yaml",
  "rbac-manager-allowed-provider-permissions.yaml",
  "rbac-manager-managed-clusterroles.yaml",
];

/** The objects of the chart's role templates. */
export async function crossplaneRbac(engineFolder: string): Promise<readonly DynamicObject[]> {
  const folder = join(engineFolder, "cluster", "charts", "crossplane", "templates");
  const texts = await Promise.all(templates.map((name) => readFile(join(folder, name), "utf8")));
  return texts
    .flatMap((text) => parseYamlDocuments(render(text)))
    .filter((value): value is DynamicObject => isRecord(value) && "kind" in value);
}

/** Conditions of the templates are all true by default; labels and annotations of Helm are left out. */
export function render(text: string): string {
  const withoutLoops = text.replaceAll(
    /^\s*\{\{-?\s*(?:with|range)[^}]*\}\}[\s\S]*?^\s*\{\{-?\s*end\s*-?\}\}\s*$/gm,
    "",
  );
  // Lines whose value is a setting belong to the branch that is not taken when the setting is empty.
  return withoutLoops
    .replaceAll(/^.*:\s*\{\{\s*\.Values\.[^}]*\}\}\s*$/gm, "")
    .replaceAll(/\{\{\s*template "crossplane\.name" \.\s*\}\}/g, "crossplane")
    .replaceAll(/\{\{\s*\.Release\.Namespace\s*\}\}/g, crossplaneNamespace)
    .replaceAll(/\{\{-?[^}]*\}\}/g, "");
}
