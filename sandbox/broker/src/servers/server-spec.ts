/** What a plan and parameters mean for a server. */
import { findServerPlan } from "../catalog.ts";
import type { Instance } from "../store.ts";
import type { ServerSpec } from "./kind.ts";

/** What the instance's server must be like. */
export function specOf(instance: Instance): ServerSpec {
  const plan = findServerPlan(instance.planId);
  if (plan === undefined) throw new Error(`plan ${instance.planId} of instance ${instance.id} is unknown`);
  const { connectionLimit: connections, memoryMiB, diskMiB, tlsOnly } = plan;
  return { connections, memoryMiB, diskMiB, tlsOnly, parameters: instance.parameters };
}
