/** Names of parameters at a backend, as they stand in the input of a Composition. */
import { recordAt } from "@klutch/kube-core";
import { accepts, type Problem, problemsOf, unknownFields } from "@klutch/schema";
import type { ComposedParameter } from "./composed-service.ts";
import { target } from "./table/file-schema.ts";
import type { Target } from "./table/service-table.ts";

/** Returns the map from the claim's names to the backend's. */
export function inputParameters(
  parameters: readonly ComposedParameter[],
): Readonly<Record<string, string | Target>> {
  return Object.fromEntries(
    parameters.map(({ name, brokerKey: key, as }) => [name, as === undefined ? key : { key, as }]),
  );
}

/** Lists the faults in the `parameters` of an object. */
export function parameterProblems(value: unknown, field: string): readonly Problem[] {
  return entriesOf(recordAt(value, "parameters")).flatMap(([name, full]) => {
    const at = `${field}.${name}`;
    return [...problemsOf(target.json, full, at), ...unknownFields(target.json, full, at)];
  });
}

/** Returns the valid ones. */
export function readParameters(
  parameters: Readonly<Record<string, unknown>> = {},
): readonly ComposedParameter[] {
  return entriesOf(parameters).flatMap(([name, full]) =>
    accepts(target, full) ? [{ name, brokerKey: full.key, as: full.as }] : [],
  );
}

function entriesOf(parameters: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] {
  return Object.entries(parameters).map(
    ([name, value]) => [name, typeof value === "string" ? { key: value } : value] as const,
  );
}
