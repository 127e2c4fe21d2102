/** Reads the values of the charts from values.md: values.yaml, its schema, its page and the arguments of the program are printed from them. */
import { consumerNamespace } from "@klutch/api";
import { isRecord, recordAt } from "@klutch/kube-core";
import type { ProgramDescription } from "@klutch/program";
import { documentsIn } from "../generate/manifests.ts";
import { filled, tableRows } from "../generate/page.ts";

/** A schema in JSON (draft 7, which every Helm 3 understands), without its description. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One value. */
export interface ChartValue {
  /** Names with dots between. */
  readonly path: string;
  /** One sentence. */
  readonly about: string;
  /** Names the type on the page. */
  readonly kind: string;
  readonly schema: JsonSchema;
  readonly default: unknown;
  /** Flag of the program that it is given to, without dashes, when it is set. */
  readonly flag?: string | undefined;
}

/** Values in the order in which they are printed. A heading stands before the values whose paths begin with its own. */
export type ValueTable = readonly (ChartValue | Pick<ChartValue, "path" | "about">)[];

/** Returns the values without the headings. */
export function valuesIn(table: ValueTable): readonly ChartValue[] {
  return table.filter((each) => "schema" in each);
}

/** Schemas and usual defaults of the types, and further parts of the schemas of single values. */
const [schemas] = documentsIn("tools/charts/schemas.yaml", { NAMESPACE: consumerNamespace });

/** Returns the values of a chart: those of both charts stand around its own. `words` fill the places of the file. */
export function readValues(
  chart: string,
  { flags }: ProgramDescription,
  words: Readonly<Record<string, string>>,
): ValueTable {
  const sections = filled("tools/charts/values.md", words).split(/^## /m);
  return ["first", chart, "last"].flatMap((title) => {
    const [, ...rows] = tableRows(sections.find((each) => each.startsWith(`${title}\n`)) ?? "");
    return rows.map(([path = "", what = "", kind = "", standard = "", flag = ""]) => {
      const { help, default: ofFlag = "" } = flags[flag] ?? {};
      const about = what === "" ? `${help}.` : what;
      if (kind === "") return { path, about };
      const [schema, usual] = typeOf(kind);
      const cell = standard === "" ? ofFlag : standard.replace(/^–$/, "");
      const value: unknown = typeof usual === "string" ? cell : cell === "" ? usual : JSON.parse(cell);
      const all = { ...schema, ...recordAt(schemas, "details", path) };
      return { path, about, kind, schema: all, default: value, flag: flag === "" ? undefined : flag };
    });
  });
}

/** Returns schema and usual default of a type: one of schemas.yaml, some words, or a type of Kubernetes, which the API server judges. */
function typeOf(kind: string): readonly [JsonSchema, usual: unknown] {
  const { schema, usual } = recordAt(schemas, "types", kind);
  if (isRecord(schema)) return [schema, usual];
  if (kind.includes(", ")) return [{ type: "string", enum: kind.split(", ") }, ""];
  if (!/^(?:list of )?(?:[A-Z]\w+|bindings)$/.test(kind)) throw new Error(`${kind} is no type of a value`);
  const isList = kind.startsWith("list of ");
  return isList ? [{ type: "array", items: { type: "object" } }, []] : [{ type: "object" }, {}];
}
