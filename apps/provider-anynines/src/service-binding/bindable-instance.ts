/** Whether a binding can be made to the instance that it names. */
import type { ManagedServiceBinding, ServiceBindingObservation, ServiceInstance } from "@klutch/api";
import { shownNamespace } from "../claims/names.ts";
import { notYet } from "../claims/waiting.ts";

/** The instance's ids at the broker. Throws `NotYetError` until it is provisioned, and once it is deleted. */
export function bindableInstance(
  binding: ManagedServiceBinding,
  instance: ServiceInstance | undefined,
): Pick<ServiceBindingObservation, "instanceId" | "serviceID" | "planID"> {
  const { instanceName } = binding.spec.forProvider;
  if (instance === undefined) {
    throw notYet(
      `data service instance was not found: no instance ${instanceName} in namespace ${shownNamespace(binding)}`,
    );
  }
  if (instance.metadata.deletionTimestamp !== undefined)
    throw notYet(`the instance ${instanceName} is being deleted`);
  const { instanceId, serviceId, planId, state } = instance.status?.atProvider ?? {};
  const known = instanceId !== undefined && serviceId !== undefined && planId !== undefined;
  if (!known || state !== "provisioned") throw notYet(`service instance is not ready: ${instanceName}`);
  return { instanceId, serviceID: serviceId, planID: planId };
}
