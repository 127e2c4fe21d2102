/** Prints the parts of templates that follow from tables and manifests of the source. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatYaml } from "@klutch/kube";
import { type ChartValue, type ValueTable, valuesIn } from "./value.ts";

/** Returns manifests as a template that prints them as they are. */
export function verbatim(manifests: readonly object[]): string {
  return manifests.map((manifest) => escaped(formatYaml(manifest))).join("---\n");
}

/** Returns text that the template language leaves alone. */
function escaped(yaml: string): string {
  return yaml.replaceAll("{{", '{{ "{{" }}');
}

/** Returns a named template that gives a manifest, for templates that change it by values. */
export function baseTemplate(name: string, manifest: object): string {
  return `{{- define "${name}" -}}\n${escaped(formatYaml(manifest))}{{- end }}\n`;
}

/** Returns a named template with the program's arguments: a line for each value that has a flag and is set. */
export function flagsTemplate(name: string, table: ValueTable): string {
  const lines = valuesIn(table).flatMap((each) =>
    each.flag === undefined ? [] : [flagLines(each, each.flag)],
  );
  return `{{- define "${name}" -}}\n${lines.join("")}{{- end }}\n`;
}

function flagLines({ path, schema }: ChartValue, flag: string): string {
  const value = `.Values.${path}`;
  const line = (printed: string): string => `- {{ printf "--${flag}=%s" (${printed}) | quote }}\n`;
  const types = [schema["type"]].flat();
  if (types.includes("array")) return `{{- range ${value} }}\n${line("toString .")}{{- end }}\n`;
  // Numbers of a file arrive as floating point numbers.
  if (types.includes("integer"))
    return `{{- if kindIs "invalid" ${value} | not }}\n${line(`toString (int64 ${value})`)}{{- end }}\n`;
  return `{{- if ${value} }}\n${line(`toString ${value}`)}{{- end }}\n`;
}

/** Returns a file of this folder with the words in the places of their names, which stand as `%NAME%`. */
export function filled(file: string, words: Readonly<Record<string, string>>): string {
  const source = readFileSync(join(import.meta.dirname, file), "utf8");
  return source.replaceAll(/%([A-Z]+)%/g, (place, name: string) => words[name] ?? place);
}
