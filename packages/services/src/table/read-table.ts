/** Reads a file to a service's table, or to the list of all its faults. */
import { isRecord, listAt, recordAt } from "@klutch/kube-core";
import { accepts, type Problem, problemsOf, unknownFields } from "@klutch/schema";
import { priceProblems } from "../prices/price.ts";
import { doubles } from "./doubles.ts";
import { exampleProblems } from "./example-problems.ts";
import { fieldSchemaProblems, jsonSchema } from "./field-schema.ts";
import { tableFile, type TableFile, target } from "./file-schema.ts";
import { wrongReferences } from "./references.ts";
import type { Parameter, ServiceTable, Target } from "./service-table.ts";
import { type OtherService, takenNames } from "./taken-names.ts";

/** One fault in a file. */
export interface Fault extends Problem {
  /** Line number, from 1. */
  readonly line: number;
}

/** A file's content, and where each of its fields stands. */
export interface PlacedFile {
  readonly value: unknown;
  readonly lineOf: (field: string) => number;
}

/** Result of reading: a table, or at least one fault. */
export type ReadResult =
  | { readonly table: ServiceTable; readonly faults: readonly never[] }
  | { readonly table: undefined; readonly faults: readonly Fault[] };

/**
 * Reads a file; `others` are the other existing services. All faults are reported at once, in the order of their lines; only the
 * examples are checked after the rest is right. CEL is not compiled: only an API server can do that.
 */
export function readTable({ value, lineOf }: PlacedFile, others: readonly OtherService[] = []): ReadResult {
  const placed = (problems: readonly Problem[]): readonly Fault[] =>
    problems
      .map((problem) => ({ ...problem, line: lineOf(problem.field) }))
      .toSorted((one, other) => one.line - other.line);
  const problems = problemsIn(value, others);
  if (problems.length > 0 || !accepts(tableFile, value))
    return { table: undefined, faults: placed(problems) };
  const table = tableOf(value);
  const faults = placed(exampleProblems(table));
  return faults.length > 0 ? { table: undefined, faults } : { table, faults: [] };
}

/** Prints a fault in one line, as compilers do. */
export function describeFault(file: string, { line, field, value, expected }: Fault): string {
  const text = `${file}:${line}: ${field === "" ? "the file" : field}: is ${value}, expected ${expected}`;
  return text.replaceAll(/\p{Cc}+/gu, " ");
}

function problemsIn(value: unknown, others: readonly OtherService[]): readonly Problem[] {
  const spec = recordAt(value, "spec");
  return [
    ...problemsOf(tableFile.json, value),
    ...unknownFields(tableFile.json, value),
    ...schemasOf(spec).flatMap(({ schema, field }) => fieldSchemaProblems(schema, field)),
    ...targetProblems(spec),
    ...doubles(spec),
    ...withoutPlans(spec),
    ...deniedBackups(spec),
    ...wrongPrices(spec),
    ...wrongReferences(spec),
    ...takenNames(value, others),
  ];
}

/** Lists backends without a plan that can be chosen. */
function withoutPlans(spec: unknown): readonly Problem[] {
  return listAt(spec, "backends").flatMap((backend, index) => {
    const plans = listAt(backend, "plans");
    const isUseless = plans.length > 0 && plans.every((plan) => recordAt(plan)["retired"] === true);
    const expected = "at least one plan that is not retired";
    return isUseless ? [{ field: `spec.backends[${index}].plans`, value: "all retired", expected }] : [];
  });
}

/** Lists objects for backups of a service that says that it has none. */
function deniedBackups(spec: unknown): readonly Problem[] {
  if (recordAt(spec)["backups"] !== false) return [];
  return listAt(spec, "backends").flatMap((backend, index) =>
    ["backup", "restore"]
      .filter((part) => recordAt(backend, "object")[part] !== undefined)
      .map((part) => ({
        field: `spec.backends[${index}].object.${part}`,
        value: "set",
        expected: "nothing, because spec.backups is false",
      })),
  );
}

function wrongPrices(spec: unknown): readonly Problem[] {
  return listAt(spec, "backends").flatMap((backend, index) =>
    listAt(backend, "plans").flatMap((plan, number) => {
      const { price } = recordAt(plan);
      return price === undefined
        ? []
        : priceProblems(price, `spec.backends[${index}].plans[${number}].price`);
    }),
  );
}

interface PlacedSchema {
  readonly schema: unknown;
  readonly field: string;
}

function schemasOf(spec: unknown): readonly PlacedSchema[] {
  const ofFields = Object.entries(recordAt(spec, "claim", "fields")).map(([name, field]) => ({
    schema: recordAt(field)["schema"],
    field: `spec.claim.fields.${name}.schema`,
  }));
  const ofParameters = listAt(spec, "parameters").map((parameter, index) => ({
    schema: recordAt(parameter)["schema"],
    field: `spec.parameters[${index}].schema`,
  }));
  return [...ofFields, ...ofParameters].filter(({ schema }) => isRecord(schema));
}

function targetProblems(spec: unknown): readonly Problem[] {
  return listAt(spec, "parameters").flatMap((parameter, index) =>
    Object.entries(recordAt(parameter, "to")).flatMap(([backend, value]) => {
      const field = `spec.parameters[${index}].to.${backend}`;
      const full = inFull(value);
      return [...problemsOf(target.json, full, field), ...unknownFields(target.json, full, field)];
    }),
  );
}

function inFull(value: unknown): unknown {
  return typeof value === "string" ? { key: value } : value;
}

function tableOf({ metadata, spec }: TableFile): ServiceTable {
  return {
    type: metadata.name,
    title: spec.title,
    about: spec.about,
    kind: spec.claim.kind,
    fields: Object.entries(spec.claim.fields ?? {}).map(([name, { schema, about, backends }]) => ({
      name,
      ...(backends === undefined ? {} : { backends }),
      schema: jsonSchema(schema, about),
    })),
    sizes: spec.sizes ?? [],
    backends: spec.backends,
    otherCompositions: spec.otherCompositions ?? false,
    backups: spec.backups ?? true,
    parametersAbout: spec.parametersAbout ?? `Settings of ${spec.title}.`,
    parameters: (spec.parameters ?? []).map(parameterOf),
    credentials: spec.credentials,
    columns: spec.columns ?? [],
    examples: spec.examples ?? [],
  };
}

function parameterOf({
  name,
  about,
  schema,
  to,
}: NonNullable<TableFile["spec"]["parameters"]>[number]): Parameter {
  const targets = Object.entries(to).flatMap(([backend, value]): readonly (readonly [string, Target])[] => {
    const full = inFull(value);
    return accepts(target, full) ? [[backend, full]] : [];
  });
  return { name, about, schema: jsonSchema(schema, about), to: Object.fromEntries(targets) };
}
