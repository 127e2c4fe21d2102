/** As much of a service as the composition function knows of it. */
import type { ConnectionSource, Target } from "./table/service-table.ts";

/** A parameter on its way to the broker. */
export interface ComposedParameter {
  readonly name: string;
  readonly brokerKey: string;
  /** How its value changes on the way. Default: not at all. */
  readonly as?: "lower" | undefined;
}

/** As much of a service as composing its instances needs. */
export interface ComposedService {
  readonly type: string;
  readonly parameters: readonly ComposedParameter[];
  /** Where the credentials of a binding say that the service is reached. */
  readonly connection: readonly ConnectionSource[];
}

/** From the names of a claim's parameters to the broker's. What is not set and what is not known is left out. */
export function brokerParameters(
  { parameters }: Pick<ComposedService, "parameters">,
  claimed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const known = parameters.filter(({ name }) => Object.hasOwn(claimed, name));
  return Object.fromEntries(known.map(({ name, brokerKey, as }) => [brokerKey, changed(claimed[name], as)]));
}

function changed(value: unknown, as: Target["as"]): unknown {
  return as === "lower" && typeof value === "string" ? value.toLowerCase() : value;
}
