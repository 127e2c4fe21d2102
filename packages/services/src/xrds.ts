/** The composites and claims of the shipped Configuration as XRDs: one for each data service, and those that all share. */
import type { Generation } from "./generation.ts";
import { instanceXrd } from "./instance-xrd.ts";
import { services } from "./list.ts";
import { sharedXrdsOf } from "./shared-xrds.ts";
import type { CompositeResourceDefinition } from "./xrd.ts";

/** Returns all XRDs of a generation. */
export function xrdsOf(generation: Generation): readonly CompositeResourceDefinition[] {
  return [...services().map((service) => instanceXrd(generation, service)), ...sharedXrdsOf(generation)];
}
