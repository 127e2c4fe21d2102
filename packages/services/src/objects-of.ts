/** The objects of a backend, each as the composition function is told of it. */
import type { Making } from "./data-service.ts";
import { type ComposedObject, defaultObjectConfig } from "./object-input.ts";

/** Objects that the claims become. */
export interface Objects {
  readonly instance?: ComposedObject | undefined;
  readonly binding?: ComposedObject | undefined;
  readonly backup?: ComposedObject | undefined;
  readonly restore?: ComposedObject | undefined;
}

/** Returns nothing for instances that a broker makes. */
export function objectsOf({ object, parameters }: Making): Objects {
  if (object === undefined) return {};
  const { providerConfig = defaultObjectConfig, binding, backup, restore, ...recipe } = object;
  const shared = (one: ComposedObject["recipe"] | undefined): ComposedObject | undefined =>
    one === undefined ? undefined : { recipe: one, providerConfig, parameters: [] };
  return {
    instance: { recipe, providerConfig, parameters },
    binding: shared(binding),
    backup: shared(backup),
    restore: shared(restore),
  };
}
