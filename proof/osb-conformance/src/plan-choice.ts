/** The plan that is checked. */
import { type Json, isText, listOf, objectOf } from "@klutch/osb/internal";

/** The properties of a plan and its offering that the checks need. */
export interface CheckedPlan {
  readonly serviceId: string;
  readonly serviceName: string;
  readonly planId: string;
  readonly planName: string;
  readonly bindable: boolean;
  readonly planUpdateable: boolean;
  readonly instancesRetrievable: boolean;
  readonly bindingsRetrievable: boolean;
  readonly requires: readonly unknown[];
  readonly maximumPollingSeconds: number | undefined;
  /** Another plan of the same offering. */
  readonly otherPlanId: string | undefined;
}

/** Names of what to check; by default the first of the catalog. */
export interface PlanWish {
  readonly service?: string | undefined;
  readonly plan?: string | undefined;
  /** Default: the first other plan of the offering. */
  readonly otherPlan?: string | undefined;
}

/** Seconds that a catalog can make a run wait for one operation at most. */
export const longestPollingSeconds: number = 24 * 3600;

/** Returns the plan, or a text that explains why none fits. */
export function choosePlan(catalog: unknown, wish: PlanWish): CheckedPlan | string {
  const offerings = listOf(objectOf(catalog)["services"]).map(objectOf);
  const offering = named(offerings, wish.service);
  if (offering === undefined) return missing("offering", wish.service, offerings);
  const plans = listOf(offering["plans"]).map(objectOf);
  const plan = named(plans, wish.plan);
  if (plan === undefined) return missing("plan", wish.plan, plans);
  const others = plans.filter(({ id }) => id !== plan["id"]);
  const other = named(others, wish.otherPlan);
  if (wish.otherPlan !== undefined && other === undefined) return missing("plan", wish.otherPlan, others);
  const { maximum_polling_duration: seconds } = plan;
  return {
    serviceId: textOf(offering, "id"),
    serviceName: textOf(offering, "name"),
    planId: textOf(plan, "id"),
    planName: textOf(plan, "name"),
    bindable: (plan["bindable"] ?? offering["bindable"]) === true,
    planUpdateable: (plan["plan_updateable"] ?? offering["plan_updateable"]) === true,
    instancesRetrievable: offering["instances_retrievable"] === true,
    bindingsRetrievable: offering["bindings_retrievable"] === true,
    requires: listOf(offering["requires"]),
    maximumPollingSeconds:
      typeof seconds === "number" && seconds > 0 ? Math.min(seconds, longestPollingSeconds) : undefined,
    otherPlanId: other === undefined ? undefined : textOf(other, "id"),
  };
}

/** The one of that name, or the first that can be used. */
function named(objects: readonly Json[], name: string | undefined): Json | undefined {
  return objects.find((object) => isText(object["id"]) && (name === undefined || object["name"] === name));
}

function missing(what: string, wanted: string | undefined, present: readonly Json[]): string {
  if (wanted === undefined) return `the catalog has no ${what} with an id`;
  const names = present.map(({ name }) => String(name)).join(", ");
  return `the catalog has no ${what} ${JSON.stringify(wanted)}; it has: ${names}`;
}

function textOf(object: Json, field: string): string {
  const value = object[field];
  return typeof value === "string" ? value : "";
}
