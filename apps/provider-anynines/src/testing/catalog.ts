/** The one service that brokers in memory offer, and an instance of it as a spec asks for it. */
import type { ServiceInstanceParameters } from "@klutch/api";
import type { Catalog, Plan, Service } from "@klutch/osb";

/** A catalog with service `s`, whose only plan is `p` unless others are given; it can do everything unless `service` says otherwise. */
export function catalogOf(
  service: Partial<Omit<Service, "id" | "plans">> = {},
  plans: readonly Partial<Plan>[] = [{}],
): Catalog {
  const able = {
    bindable: true,
    instancesRetrievable: true,
    bindingsRetrievable: true,
    planUpdateable: true,
  };
  const all = plans.map((plan) => ({ id: "p", name: "plan", description: "", ...plan }));
  return { services: [{ id: "s", name: "service", description: "", ...able, ...service, plans: all }] };
}

/** `spec.forProvider` of an instance of that service and plan. */
export function wantedOf(changes: Partial<ServiceInstanceParameters> = {}): ServiceInstanceParameters {
  return {
    acceptsIncomplete: true,
    serviceName: "service",
    planName: "plan",
    organizationGuid: "o",
    spaceGuid: "s",
    ...changes,
  };
}
