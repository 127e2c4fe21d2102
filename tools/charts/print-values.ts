/** values.yaml, values.schema.json and the table of a chart's page, out of its values. */
import { formatYaml } from "@klutch/kube";
import { type ChartValue, type JsonSchema, type ValueTable, valuesIn } from "./value.ts";

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
  const depth = parent === "" ? 1 : parent.split(".").length + 1;
  const inside = table.filter(({ path }) => parent === "" || path.startsWith(`${parent}.`));
  const own = inside.filter(({ path }) => path.split(".").length === depth);
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

/** The rows of the page. */
export function valueRows(table: ValueTable): readonly string[] {
  return [
    "| value | what | is | default |",
    "|---|---|---|---|",
    ...valuesIn(table).map(
      (each) => `| \`${each.path}\` | ${cell(each.about)} | ${cell(each.kind)} | ${standard(each)} |`,
    ),
  ];
}

function standard({ default: value }: ChartValue): string {
  const isEmpty = value === "" || value === null;
  return isEmpty ? "–" : `\`${cell(typeof value === "string" ? value : JSON.stringify(value))}\``;
}

function cell(words: string): string {
  return words.replaceAll("|", "\\|");
}
