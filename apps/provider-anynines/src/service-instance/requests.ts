/** Builds the broker's requests from the managed resource. */
import type { ServiceInstance } from "@klutch/api";
import { jsonEqual } from "@klutch/kube-core";
import type { DeleteRequest, ProvisionRequest, UpdateRequest } from "@klutch/osb";
import type { PlanChoice, PlanIds } from "../broker/plan-lookup.ts";
import type { RequestContext } from "../broker/request-context.ts";

export function idsOf(choice: PlanChoice): PlanIds {
  return { serviceId: choice.service.id, planId: choice.plan.id };
}

export function provisionRequest(
  { spec: { forProvider } }: ServiceInstance,
  instanceId: string,
  plan: PlanIds,
  context: RequestContext,
): ProvisionRequest {
  const { parameters, acceptsIncomplete } = forProvider;
  return { instanceId, ...plan, parameters, acceptsIncomplete, ...context };
}

/** `parameters`: only what changes. */
export function updateRequest(
  { spec: { forProvider } }: ServiceInstance,
  instanceId: string,
  plan: PlanIds,
  parameters: Readonly<Record<string, unknown>> | undefined,
  { context }: RequestContext,
): UpdateRequest {
  const { acceptsIncomplete } = forProvider;
  return { instanceId, ...plan, parameters, acceptsIncomplete, context };
}

/** The plan is that of the instance, not of the spec: one that is not offered any more must not block a deletion. */
export function deprovisionRequest(instanceId: string, plan: Partial<PlanIds>): DeleteRequest {
  return { instanceId, serviceId: plan.serviceId ?? "", planId: plan.planId ?? "" };
}

type Parameters = Readonly<Record<string, unknown>>;

/**
 * Returns changed and new parameters with their values, and `null` for those that we sent once and that the spec dropped. What the broker
 * reports besides is its own default, which is left alone. Undefined when there is nothing to change.
 */
export function parameterChanges(observed: {
  readonly wanted: Parameters | undefined;
  /** As last reported by the broker, or as last sent. */
  readonly present: Parameters | undefined;
  /** Names that were sent before. */
  readonly sent: readonly string[];
}): Parameters | undefined {
  const { wanted = {}, present = {}, sent } = observed;
  const changed = Object.entries(wanted).filter(([name, value]) => !jsonEqual(value, present[name]));
  const removed = sent.filter((name) => !Object.hasOwn(wanted, name)).map((name) => [name, null] as const);
  if (changed.length === 0 && removed.length === 0) return undefined;
  return Object.fromEntries<unknown>([...changed, ...removed]);
}
