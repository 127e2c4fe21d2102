/** Which broker serves a managed resource, and what to say when none does. */
import { instanceTypeLabel, type ManagedServiceBinding, type ServiceInstance } from "@klutch/api";
import { ExternalError, type Managed } from "@klutch/crossplane";
import { typeOfProviderConfig } from "@klutch/services";
import type { Broker, Brokers } from "./brokers.ts";
import { bareConfigName, configNameOf, shownConfig } from "../provider-config/reference.ts";
import { UnknownConfigError } from "../provider-config/clients.ts";

/** Throws when a binding asks another broker than its instance's: it would never find the instance there. */
export function checkServiceType(
  binding: ManagedServiceBinding,
  instance: ServiceInstance | undefined,
): void {
  if (instance === undefined || configNameOf(instance) === configNameOf(binding)) return;
  const type = typeOfProviderConfig(bareConfigName(instance));
  if (typeOf(binding) === type) {
    throw new ExternalError(
      `the binding names the ${shownConfig(binding)}, but the instance ${binding.spec.forProvider.instanceName} is made by the ${shownConfig(instance)}; ` +
        `both need the same`,
      { reason: "Refused" },
    );
  }
  throw new ExternalError(
    `serviceInstanceType is ${typeOf(binding)}, but the instance ${binding.spec.forProvider.instanceName} is of type ${type}; ` +
      `the binding needs serviceInstanceType ${type}`,
    { reason: "Refused" },
  );
}

/** The broker of an instance or a binding. A ProviderConfig that is missing means that no broker serves the type. */
export async function brokerOf(
  brokers: Pick<Brokers, "get">,
  managed: Managed,
  signal: AbortSignal,
): Promise<Broker> {
  const type = typeOf(managed);
  try {
    return await brokers.get(configNameOf(managed), { signal });
  } catch (cause) {
    if (!(cause instanceof UnknownConfigError)) throw cause;
    // Whoever composes managed resources themselves may name ProviderConfigs after something else than a type.
    const message =
      type === bareConfigName(managed)
        ? cause.message
        : `no broker here serves the type ${type}: ${cause.notFound}`;
    throw new ExternalError(message, { cause, reason: "NoBroker" });
  }
}

function typeOf(managed: Managed): string {
  return managed.metadata.labels?.[instanceTypeLabel] ?? typeOfProviderConfig(bareConfigName(managed));
}
