/** A claim of any data service → ServiceInstance. */
import { connectionAnnotation, serviceInstances } from "@klutch/api";
import type { Compose, ComposeResponse, Json } from "@klutch/crossplane";
import { isRecord, recordAt, textAt, valueAt } from "@klutch/kube-core";
import { brokerParameters, type ComposedService, connectionText, providerConfigName } from "@klutch/services";
import { answer, nameOfComposed, noClaim } from "./composite.ts";
import type { BrokerSpace } from "./environment.ts";
import { type ClaimIdentity, claimOf, managedResource } from "./managed-resource.ts";
import { type Placement, placementLabels, placementOf } from "./placement.ts";
import type { Blame } from "./words.ts";

/** The one organisation and space that compositions name by default, with every broker. */
const defaultSpace: BrokerSpace = {
  organizationGuid: "a1d46b5c-b639-4f43-85c7-e9a0e5f01f75",
  spaceGuid: "1bf71cf3-9017-4846-bffc-b9b31872bfaf",
};
const reported = ["createdAt", "provisionedAt", "state", "updatedAt"];

/** Composes the instances of one service. */
export function composeServiceInstance(service: ComposedService): Compose {
  return (request) => {
    const { composite, input, observed } = request;
    const claim = claimOf(composite);
    if (claim === undefined) return noClaim;
    const { type, takesRegion } = service;
    const fallback = stepSpace(input);
    const usual: Placement = {
      space: fallback,
      broker: { config: providerConfigName(type), region: undefined },
    };
    const living = observed[nameOfComposed(observed, instanceOf(service, composite, claim, usual)) ?? ""];
    const question = { claim, type, living: living?.resource, fallback, takesRegion };
    const found = placementOf(request, question);
    if ("answer" in found) return found.answer;
    const wanted = instanceOf(service, composite, claim, found.placement);
    const response = answer(request, wanted, reported, blameOf(service.parameters, composite));
    return { ...withRegion(response, found.placement.broker.region), required: found.required };
  };
}

function instanceOf(
  service: ComposedService,
  composite: Json,
  claim: ClaimIdentity,
  { space, broker }: Placement,
): Json {
  const claimed = valueAt(composite, "spec", "parameters");
  const parameters = isRecord(claimed) ? brokerParameters(service, claimed) : {};
  return managedResource(claim, serviceInstances, {
    labels: placementLabels(service.type, broker.region),
    annotations: connectionOf(service),
    forProvider: {
      acceptsIncomplete: valueAt(composite, "spec", "acceptsIncomplete") !== false,
      serviceName: textAt(composite, "spec", "service") ?? "",
      planName: textAt(composite, "spec", "plan") ?? "",
      ...space,
      ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    },
    providerConfig: broker.config,
  });
}

/** Shows the developer where the instance is, as far as its broker has a region. */
function withRegion(response: ComposeResponse, region: string | undefined): ComposeResponse {
  if (region === undefined) return response;
  const managed = { ...recordAt(response.compositeStatus, "managed"), region };
  return { ...response, compositeStatus: { ...response.compositeStatus, managed } };
}

/** Returns organisation and space for namespaces without an EnvironmentConfig. */
function stepSpace(input: Json | undefined): BrokerSpace {
  return {
    organizationGuid: textAt(input, "organizationGuid") ?? defaultSpace.organizationGuid,
    spaceGuid: textAt(input, "spaceGuid") ?? defaultSpace.spaceGuid,
  };
}

/** Returns the connection, for the controller of bindings, which knows no service. */
function connectionOf({ connection }: ComposedService): Readonly<Record<string, string>> | undefined {
  return connection.length === 0 ? undefined : { [connectionAnnotation]: connectionText(connection) };
}

type Known = readonly { readonly name: string; readonly brokerKey: string }[];

/** Maps words of a refusal to claim fields: parameters first, because a refusal of one may also name the plan. */
export function blameOf(known: Known, composite: Json): readonly Blame[] {
  const claimed = recordAt(composite, "spec", "parameters");
  const parameters = known
    .filter(({ name }) => Object.hasOwn(claimed, name))
    .flatMap(({ name, brokerKey }) =>
      [name, brokerKey].map((word) => [word, `spec.parameters.${name}`] as const),
    );
  const named = (field: string): Blame => {
    const word = textAt(composite, "spec", field);
    return new Map(word === undefined ? [] : [[word, `spec.${field}`]]);
  };
  return [new Map(parameters), named("plan"), named("service")];
}
