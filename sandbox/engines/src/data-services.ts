/** Data services that a sandbox offers when it is told to, and what their servers need. */
import { resolveDebian } from "./debian.ts";
import { resolveOpensearch } from "./opensearch.ts";
import { type ObtainOptions, resolveEngine } from "./resolve.ts";

/** Types of these services. */
export const onDemandServices = ["prometheus", "mongodb", "messaging", "search", "logme2"] as const;
export type OnDemandService = (typeof onDemandServices)[number];

const obtain: Readonly<Record<OnDemandService, (options: ObtainOptions) => Promise<unknown>>> = {
  prometheus: (options) => resolveDebian("prometheus", options),
  messaging: (options) => resolveDebian("rabbitmq", options),
  mongodb: (options) => resolveEngine("ferretdb", options),
  search: (options) => resolveOpensearch(options),
  logme2: (options) => resolveOpensearch(options),
};

/** Reads a list of types with commas between them; a type that is named twice counts once. Throws with all possible types. */
export function readOnDemandServices(list: string): readonly OnDemandService[] {
  const given = list.split(",").filter((each) => each !== "");
  const other = given.find((each) => !onDemandServices.some((type) => type === each));
  if (other !== undefined)
    throw new RangeError(
      `has ${JSON.stringify(other)}, but each must be one of ${onDemandServices.join(", ")}`,
    );
  return onDemandServices.filter((type) => given.includes(type));
}

/** Fetches or builds the servers of these services. Throws `EngineError` with what this machine lacks. */
export async function obtainOnDemandServices(
  types: readonly OnDemandService[],
  options: ObtainOptions,
): Promise<void> {
  for (const type of types) await obtain[type](options);
}
