/** What the broker is asked for, from the managed resource. */
import type { ServiceInstance } from "@klutch/api";
import type { DeleteRequest, ProvisionRequest, UpdateRequest } from "@klutch/osb";
import type { PlanChoice } from "../broker/plan-lookup.ts";

/** Service and plan as the broker numbers them. */
export interface PlanIds {
  readonly serviceId: string;
  readonly planId: string;
}

export function idsOf(choice: PlanChoice): PlanIds {
  return { serviceId: choice.service.id, planId: choice.plan.id };
}

export function provisionRequest(
  { spec: { forProvider } }: ServiceInstance,
  instanceId: string,
  plan: PlanIds,
): ProvisionRequest {
  const { organizationGuid, spaceGuid, parameters, acceptsIncomplete } = forProvider;
  const context = contextOf(forProvider);
  return { instanceId, ...plan, organizationGuid, spaceGuid, parameters, acceptsIncomplete, context };
}

/** `parameters`: only what changes. */
export function updateRequest(
  { spec: { forProvider } }: ServiceInstance,
  instanceId: string,
  plan: PlanIds,
  parameters: Readonly<Record<string, unknown>> | undefined,
): UpdateRequest {
  const { acceptsIncomplete } = forProvider;
  return { instanceId, ...plan, parameters, acceptsIncomplete, context: contextOf(forProvider) };
}

/** The plan is that of the instance, not of the spec: one that is not offered any more must not block a deletion. */
export function deprovisionRequest(instanceId: string, plan: Partial<PlanIds>): DeleteRequest {
  return { instanceId, serviceId: plan.serviceId ?? "", planId: plan.planId ?? "" };
}

function contextOf({
  context,
  organizationGuid,
  spaceGuid,
}: ServiceInstance["spec"]["forProvider"]): Readonly<Record<string, unknown>> {
  return {
    ...context,
    platform: "kubernetes",
    organization_guid: organizationGuid,
    space_guid: spaceGuid,
  };
}
