/** The composition function: from a composite of the shipped Configuration to a managed resource of provider-anynines. */
import type { Compose, ComposeResponse } from "@klutch/crossplane";
import type { FunctionInput } from "@klutch/services";
import { composePostgresqlInstance } from "./postgresql-instance.ts";
import { composeServiceBinding } from "./service-binding.ts";

type Resource = FunctionInput["resource"];

const composers: Readonly<Record<Resource, Compose>> = {
  "postgresql-instance": composePostgresqlInstance,
  "service-binding": composeServiceBinding,
};

/** Chooses by the step's input. An input it does not know stops the pipeline and names what is allowed. */
export const compose: Compose = (request) => {
  const resource = request.input?.["resource"];
  const known = Object.keys(composers).find((name): name is Resource => name === resource);
  if (known === undefined) return unknownInput(resource);
  return composers[known](request);
};

function unknownInput(resource: unknown): ComposeResponse {
  const allowed = Object.keys(composers).join(", ");
  const message = `input.resource is ${JSON.stringify(resource)}; it must be one of: ${allowed}`;
  return { resources: {}, results: [{ severity: "fatal", message }] };
}
