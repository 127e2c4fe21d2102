/** Prints what follows from the values and manifests of a chart: values.yaml, values.schema.json, parts of templates, and its page. */
import { releaseRegistry } from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import { filled, table } from "../generate/page.ts";
import { type ChartDefinition, chartVersion } from "./chart.ts";
import { type ChartValue, type JsonSchema, type ValueTable, valuesIn } from "./values.ts";

/** values.yaml without its header: each value with its sentence above it. */
export function valuesYaml(table: ValueTable): string {
  return table
    .map((each) => {
      const names = each.path.split(".");
      const name = names.at(-1) ?? "";
      const lines =
        "schema" in each
          ? formatYaml({ [name]: each.default })
              .trimEnd()
              .split("\n")
          : [`${name}:`];
      const indent = "  ".repeat(names.length - 1);
      return [`# ${each.about}`, ...lines].map((line) => `${indent}${line}\n`).join("");
    })
    .join("");
}

/** values.schema.json: each value and group with its sentence, and nothing else allowed. */
export function valuesSchema(table: ValueTable, title: string): string {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title,
    ...objectSchema(table, ""),
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function objectSchema(table: ValueTable, parent: string): JsonSchema {
  const own = table.filter(({ path }) => path.slice(0, Math.max(path.lastIndexOf("."), 0)) === parent);
  const properties = own.map((each) => {
    const schema =
      "schema" in each ? { ...each.schema, default: each.default } : objectSchema(table, each.path);
    return [each.path.split(".").at(-1) ?? "", { description: each.about, ...schema }] as const;
  });
  return {
    type: "object",
    additionalProperties: false,
    properties: { ...Object.fromEntries(properties), ...(parent === "" ? { global } : {}) },
  };
}

/** Helm gives it to every chart inside of another chart. */
const global: JsonSchema = {
  type: "object",
  description: "Values that a chart around this one shares; none is read.",
};

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
  const given = valuesIn(table).filter(({ flag }) => flag !== undefined);
  return `{{- define "${name}" -}}\n${given.map(flagLines).join("")}{{- end }}\n`;
}

function flagLines({ path, schema, flag }: ChartValue): string {
  const value = `.Values.${path}`;
  const line = (printed: string): string => `- {{ printf "--${flag}=%s" (${printed}) | quote }}\n`;
  const types = [schema["type"]].flat();
  if (types.includes("array")) return `{{- range ${value} }}\n${line("toString .")}{{- end }}\n`;
  // Numbers of a file arrive as floating point numbers.
  if (types.includes("integer"))
    return `{{- if kindIs "invalid" ${value} | not }}\n${line(`toString (int64 ${value})`)}{{- end }}\n`;
  return `{{- if ${value} }}\n${line(`toString ${value}`)}{{- end }}\n`;
}

/** Returns the Markdown of the file in this folder that has the chart's name. */
export function chartPage(chart: Omit<ChartDefinition, "templates">): string {
  const { name, description, namespace, registry, values } = chart;
  const source = `oci://${registry}/charts/${name} --version ${chartVersion}`;
  const isReserved = registry === releaseRegistry;
  const hint = ` \`${registry}\` is a name that nobody serves: put your registry in its place.`;
  return filled(`tools/charts/${name}.md`, {
    ABOUT: `${description}.${isReserved ? hint : ""}`,
    SOURCE: source,
    INSTALL: `helm upgrade --install ${name} ${source} \\
      --namespace ${namespace} --create-namespace --values values.yaml`,
    VALUES: table(["value", "what", "is", "default"], valuesIn(values).map(rowOf)).join("\n"),
  });
}

function rowOf({ path, about, kind, default: value }: ChartValue): readonly string[] {
  const isEmpty = value === "" || value === null;
  const standard = typeof value === "string" ? value : JSON.stringify(value);
  return [`\`${path}\``, about, kind, isEmpty ? "–" : `\`${standard}\``];
}
