/** Defines the part of a service that the composition function knows. */
import type { ConnectionSource, Target } from "./table/service-table.ts";

/** A parameter on its way to the broker. */
export interface ComposedParameter {
  readonly name: string;
  readonly brokerKey: string;
  /** Conversion of the value. Default: none. */
  readonly as?: "lower" | undefined;
}

/** Fields of a service that are needed to compose its instances. */
export interface ComposedService {
  readonly type: string;
  readonly parameters: readonly ComposedParameter[];
  /** Address fields in the credentials of a binding. */
  readonly connection: readonly ConnectionSource[];
  /** False when `spec.region` of its claims is a field of the table, not the choice among brokers. */
  readonly takesRegion: boolean;
}

/** Renames a claim's parameters to the broker's. Unset and unknown ones are left out. */
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
