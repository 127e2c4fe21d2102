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

/** The names in a spec. */
type Names = Pick<ServiceInstance["spec"]["forProvider"], "serviceName" | "planName">;

/** Service and plan as the broker numbers them. */
export interface PlanIds {
  readonly serviceId: string;
  readonly planId: string;
}

/** An instance that the broker has. */
export interface MadeInstance {
  readonly ids: { readonly serviceId?: string | undefined; readonly planId?: string | undefined };
  /** Its spec names the service and plan that it was made with or changed to; undefined: no record says it. */
  readonly isAsMade: boolean | undefined;
}

const none: MadeInstance = { ids: {}, isAsMade: undefined };

/**
 * Returns the service of exactly that name, or else one that has it before an a9s suffix (`a9s-postgresql1` never means
 * `a9s-postgresql13`), and its plan. Of several with one name, it takes the one that the instance has. Throws `ExternalError` that names what the
 * catalog has.
 */
export function findPlan(catalog: Catalog, names: Names, made: MadeInstance = none): PlanChoice {
  const found = lookUp(catalog, names, made);
  if ("problem" in found) throw new ExternalError(brokerText(found.problem), { reason: "Refused" });
  return found;
}

type LookedUp = PlanChoice | { readonly problem: string };

function lookUp({ services }: Catalog, { serviceName, planName }: Names, made: MadeInstance): LookedUp {
  const exact = services.filter(({ name }) => name === serviceName);
  const named =
    exact.length > 0 ? exact : services.filter(({ name }) => name.replace(a9sSuffix, "") === serviceName);
  // Of several offerings with a suffix, a new instance gets the first one, as from the Go provider.
  const service = onlyOf(named, made.ids.serviceId) ?? (exact.length === 0 ? named[0] : undefined);
  if (service === undefined) {
    const problem =
      named.length > 1
        ? `the broker's catalog has ${named.length} services named ${quoted(serviceName)}; only one can be`
        : `no entry for the service name ${quoted(serviceName)}; the broker offers: ${namesOf(services)}`;
    return { problem };
  }
  const plans = service.plans.filter(({ name }) => name === planName);
  const plan = onlyOf(plans, made.ids.planId);
  if (plan === undefined) {
    const problem =
      plans.length > 1
        ? `the broker's catalog has ${plans.length} plans named ${quoted(planName)} in ${service.name}; only one can be`
        : `no entry for the plan name ${quoted(planName)}; ${service.name} has: ${namesOf(service.plans)}`;
    return { problem };
  }
  const isItsOwn = plan.id === made.ids.planId && made.isAsMade !== false;
  const twin = services.flatMap((one) => one.plans).find((one) => one !== plan && one.id === plan.id);
  if (twin !== undefined && !isItsOwn)
    return {
      problem: `the broker's catalog gives the plans ${quoted(planName)} and ${quoted(twin.name)} the same id ${quoted(plan.id)}; each must have its own`,
    };
  return { service, plan };
}

/** The only one, or of several the one with the id. */
function onlyOf<T extends { readonly id: string }>(all: readonly T[], id: string | undefined): T | undefined {
  return all.length === 1 ? all[0] : all.find((one) => one.id === id);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function namesOf(all: readonly { readonly name: string }[]): string {
  return all.map(({ name }) => name).join(", ");
}

/** The plan of a living instance. */
export interface LivingPlan extends PlanIds {
  readonly instancesRetrievable: boolean;
  /** Says that the catalog does not have it as it was made. */
  readonly notice?: string | undefined;
}

/**
 * Returns the plan that a living instance should have. One whose spec still names what it was made with keeps that, whatever the catalog became:
 * without its plan or service, under other names or another service id, or with two of a name. Throws `ExternalError` as `findPlan` does.
 */
export function livingPlan(catalog: Catalog, names: Names, made: MadeInstance): LivingPlan {
  const { serviceId, planId } = made.ids;
  const isKept = made.isAsMade === true && serviceId !== undefined && planId !== undefined;
  const found = isKept ? lookUp(catalog, names, made) : findPlan(catalog, names, made);
  if (!("problem" in found) && (!isKept || found.service.id === serviceId)) {
    const { service, plan } = found;
    const { instancesRetrievable } = service;
    return { serviceId: service.id, planId: plan.id, instancesRetrievable };
  }
  const own = catalog.services.find(({ id }) => id === serviceId);
  const why =
    "problem" in found
      ? found.problem
      : `the broker's catalog has ${quoted(names.serviceName)} under another id than this instance`;
  return {
    serviceId: serviceId ?? "",
    planId: planId ?? "",
    instancesRetrievable: own?.instancesRetrievable === true,
    notice: brokerText(`it goes on as it was made, although ${why}`),
  };
}

/** Service and plan that a new instance's spec names. Throws `ExternalError` when the broker does not have them. */
export async function planOf(
  broker: Broker,
  { spec }: ServiceInstance,
  options: CallOptions,
): Promise<PlanChoice> {
  return findPlan(await broker.catalog(options), spec.forProvider);
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
