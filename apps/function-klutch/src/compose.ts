/**
 * The composition function: from a composite of the shipped Configuration to a managed resource of provider-anynines or of provider-kubernetes; from
 * any other composite to one of another provider.
 */
import type { Compose, ComposeRequest, ComposeResponse } from "@klutch/crossplane";
import {
  backupResource,
  bindingResource,
  functionResource,
  instanceResource,
  managedResourceInput,
  objectResource,
  readInstanceInput,
  restoreResource,
  revisionProblem,
  services,
} from "@klutch/services";
import { composeBackup } from "./backup.ts";
import { composeForeign } from "./foreign.ts";
import { keepLiving } from "./living.ts";
import { refusal } from "./refusal.ts";
import { composeObject } from "./object.ts";
import { composeRestore } from "./restore.ts";
import { composeServiceBinding } from "./service-binding.ts";
import { composeServiceInstance } from "./service-instance.ts";
import { passTraceContext } from "./trace-context.ts";

const composers: ReadonlyMap<unknown, Compose> = new Map([
  [instanceResource, composeDescribed] as const,
  [objectResource, composeObject] as const,
  [managedResourceInput, composeForeign] as const,
  // Compositions of the release before say only which of these services they mean.
  ...services().map((service) => [functionResource(service), composeServiceInstance(service)] as const),
  [bindingResource, composeServiceBinding] as const,
  [backupResource, composeBackup] as const,
  [restoreResource, composeRestore] as const,
]);

/** An instance of the service that the input describes. */
function composeDescribed(request: ComposeRequest): ComposeResponse {
  const service = readInstanceInput(request.input);
  return "problem" in service ? fatal(service.problem) : composeServiceInstance(service)(request);
}

/** Chooses by the step's input. An unknown input, or a living resource of another kind, stops the pipeline with the allowed values. */
export const compose: Compose = (request) => {
  const problem = revisionProblem(request.input);
  if (problem !== undefined) return refusal(problem);
  const resource = request.input?.["resource"];
  const response = composers.get(resource)?.(request);
  if (response === undefined) return unknownInput(resource);
  return passTraceContext(request, keepLiving(request.observed, response));
};

function unknownInput(resource: unknown): ComposeResponse {
  const allowed = [...composers.keys()].join(", ");
  return fatal(`input.resource is ${JSON.stringify(resource)}; it must be one of: ${allowed}`);
}

function fatal(message: string): ComposeResponse {
  return { resources: {}, results: [{ severity: "fatal", message }] };
}
