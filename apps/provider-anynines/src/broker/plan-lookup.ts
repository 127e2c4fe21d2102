/** Finds service and plan in a catalog by the names in a managed resource. */
import type { ServiceInstance } from "@klutch/api";
import { type CallOptions, ExternalError } from "@klutch/crossplane";
import type { Catalog, Plan, Service } from "@klutch/osb";
import { brokerText } from "../operations/answers.ts";
import type { Broker } from "./brokers.ts";

/** The ids of the named service and plan. */
export interface PlanChoice {
  readonly service: Service;
  readonly plan: Plan;
}

/** a9s brokers append `-ms-` and a number to the names of their offerings. */
const a9sSuffix = /-ms-\d+$/;

/**
 * The service of exactly that name, or the only one that has it before an a9s suffix: `a9s-postgresql1` never means
 * `a9s-postgresql13`. Throws `ExternalError` that names what the catalog has.
 */
export function findPlan(catalog: Catalog, serviceName: string, planName: string): PlanChoice {
  const { services } = catalog;
  const service =
    services.find(({ name }) => name === serviceName) ??
    services.find(({ name }) => name.replace(a9sSuffix, "") === serviceName);
  if (service === undefined) {
    const names = services.map(({ name }) => name).join(", ");
    throw new ExternalError(
      brokerText(`no entry for the service name ${JSON.stringify(serviceName)}; the broker offers: ${names}`),
      { reason: "Refused" },
    );
  }
  const plan = service.plans.find(({ name }) => name === planName);
  if (plan === undefined) {
    const names = service.plans.map(({ name }) => name).join(", ");
    throw new ExternalError(
      brokerText(`no entry for the plan name ${JSON.stringify(planName)}; ${service.name} has: ${names}`),
      { reason: "Refused" },
    );
  }
  return { service, plan };
}

/** Service and plan that an instance's spec names. Throws `ExternalError` when the broker does not have them. */
export async function planOf(
  broker: Broker,
  { spec }: ServiceInstance,
  options: CallOptions,
): Promise<PlanChoice> {
  const { serviceName, planName } = spec.forProvider;
  return findPlan(await broker.catalog(options), serviceName, planName);
}

/** Seconds that an operation on an instance of the plan may take, when the catalog still has the plan and says it. */
export async function maximumPollingSeconds(
  broker: Broker,
  planId: string | undefined,
  options: CallOptions,
): Promise<number | undefined> {
  const { services } = await broker.catalog(options);
  const plans = services.flatMap((service) => service.plans);
  return plans.find((plan) => plan.id === planId)?.maximumPollingDuration;
}

/** A change in words: from which plan to which, or that the plan stays. A plan that the broker does not offer any more has its id for a name. */
export function changeOf(catalog: Catalog, fromId: string | undefined, toId: string): string {
  if (fromId === undefined || fromId === toId) return "parameters change";
  return brokerText(`from ${planNameOf(catalog, fromId)} to ${planNameOf(catalog, toId)}`);
}

/** Returns the name of a plan, or its id if the broker does not offer it any more. */
export function planNameOf({ services }: Catalog, id: string): string {
  const plans = services.flatMap((service) => service.plans);
  return plans.find((plan) => plan.id === id)?.name ?? id;
}
