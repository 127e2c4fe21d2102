/** The composition function: from a composite of the shipped Configuration to a managed resource of provider-anynines. */
import type { Compose, ComposeResponse } from "@klutch/crossplane";
import {
  backupResource,
  bindingResource,
  functionResource,
  restoreResource,
  services,
} from "@klutch/services";
import { composeBackup } from "./backup.ts";
import { composeRestore } from "./restore.ts";
import { composeServiceBinding } from "./service-binding.ts";
import { composeServiceInstance } from "./service-instance.ts";

const composers: ReadonlyMap<unknown, Compose> = new Map([
  ...services.map((service) => [functionResource(service), composeServiceInstance(service)] as const),
  [bindingResource, composeServiceBinding] as const,
  [backupResource, composeBackup] as const,
  [restoreResource, composeRestore] as const,
]);

/** Chooses by the step's input. An input it does not know stops the pipeline and names what is allowed. */
export const compose: Compose = (request) => {
  const resource = request.input?.["resource"];
  return composers.get(resource)?.(request) ?? unknownInput(resource);
};

function unknownInput(resource: unknown): ComposeResponse {
  const allowed = [...composers.keys()].join(", ");
  const message = `input.resource is ${JSON.stringify(resource)}; it must be one of: ${allowed}`;
  return { resources: {}, results: [{ severity: "fatal", message }] };
}
