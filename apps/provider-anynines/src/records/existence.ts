/** Whether anything of a managed resource can be at a broker. A false "no" would leave something behind, so every doubt is a "maybe". */
import type { ManagedServiceBinding, ServiceInstance } from "@klutch/api";
import type { Managed } from "@klutch/crossplane";
import { boundToAnnotation, provisionedAsAnnotation } from "./annotations.ts";
import { operationAnnotation } from "./operation.ts";

/** What this provider, the existing one and its runtime write before and after they create. */
const traces = [
  operationAnnotation,
  boundToAnnotation,
  provisionedAsAnnotation,
  "crossplane.io/external-create-pending",
  "crossplane.io/external-create-succeeded",
  "anynines.crossplane.io/servicebinding-created",
];

/** No call that could have made the instance was ever begun. */
export function wasNeverProvisioned(instance: ServiceInstance): boolean {
  const { state, serviceId } = instance.status?.atProvider ?? {};
  return state === undefined && serviceId === undefined && !hasTrace(instance);
}

/** No call that could have made the binding was ever begun. */
export function wasNeverBound(binding: ManagedServiceBinding): boolean {
  const { state = "Pending" } = binding.status?.atProvider ?? {};
  return state === "Pending" && !hasTrace(binding);
}

function hasTrace({ metadata }: Managed): boolean {
  return traces.some((name) => metadata.annotations?.[name] !== undefined);
}
