/** PostgresqlInstance → ServiceInstance. See docs/reference/composition.md. */
import { postgresqlParameters, serviceInstances } from "@klutch/api";
import type { Compose, Json } from "@klutch/crossplane";
import { answer, at, claimLabels, claimOf, isJson, noClaim, textAt } from "./composite.ts";

/** The one organisation and space that the existing compositions use with every broker. */
const defaultOrganization = "a1d46b5c-b639-4f43-85c7-e9a0e5f01f75";
const defaultSpace = "1bf71cf3-9017-4846-bffc-b9b31872bfaf";
const reported = ["createdAt", "provisionedAt", "state", "updatedAt"];

export const composePostgresqlInstance: Compose = (request) => {
  const { composite, input } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const acceptsIncomplete = at(composite, "spec", "acceptsIncomplete");
  const parameters = brokerParameters(at(composite, "spec", "parameters"));
  const resource: Json = {
    apiVersion: `${serviceInstances.group}/${serviceInstances.version}`,
    kind: serviceInstances.kind,
    metadata: { labels: claimLabels(claim) },
    spec: {
      forProvider: {
        acceptsIncomplete: acceptsIncomplete !== false,
        serviceName: textAt(composite, "spec", "service"),
        planName: textAt(composite, "spec", "plan"),
        organizationGuid: textAt(input, "organizationGuid") || defaultOrganization,
        spaceGuid: textAt(input, "spaceGuid") || defaultSpace,
        ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
      },
      providerConfigRef: { name: "postgresql-service-broker" },
    },
  };
  return answer(request, resource, reported);
};

/** From the claim's names to the broker's; what is not set is not sent. */
export function brokerParameters(parameters: unknown): Json {
  if (!isJson(parameters)) return {};
  const known = postgresqlParameters.filter(({ name }) => Object.hasOwn(parameters, name));
  return Object.fromEntries(known.map(({ name, brokerKey }) => [brokerKey, parameters[name]]));
}
