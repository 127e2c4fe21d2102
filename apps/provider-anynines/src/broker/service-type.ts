/** Which broker serves a managed resource, and what to say when none does. */
import { instanceTypeLabel, type ManagedServiceBinding, type ServiceInstance } from "@klutch/api";
import { ExternalError, type Managed } from "@klutch/crossplane";
import { typeOfProviderConfig } from "@klutch/services";
import { type Broker, type Brokers, UnknownConfigError } from "./brokers.ts";

export function configNameOf(managed: Managed): string {
  return managed.spec.providerConfigRef?.name ?? "default";
}

/** Throws when a binding asks another broker than its instance's: it would never find the instance there. */
export function checkServiceType(
  binding: ManagedServiceBinding,
  instance: ServiceInstance | undefined,
): void {
  if (instance === undefined || configNameOf(instance) === configNameOf(binding)) return;
  const type = typeOfProviderConfig(configNameOf(instance));
  throw new ExternalError(
    `serviceInstanceType is ${typeOf(binding)}, but the instance ${binding.spec.forProvider.instanceName} is of type ${type}; ` +
      `delete the binding and make it anew with serviceInstanceType ${type}`,
  );
}

/** The broker of a binding. */
export async function brokerOf(
  brokers: Brokers,
  binding: ManagedServiceBinding,
  signal: AbortSignal,
): Promise<Broker> {
  const name = configNameOf(binding);
  try {
    return await brokers.get(name, { signal });
  } catch (cause) {
    if (!(cause instanceof UnknownConfigError)) throw cause;
    throw new ExternalError(
      `no broker here serves the type ${typeOf(binding)}: providerconfigs "${name}" not found`,
      { cause },
    );
  }
}

function typeOf(binding: ManagedServiceBinding): string {
  return binding.metadata.labels?.[instanceTypeLabel] ?? typeOfProviderConfig(configNameOf(binding));
}
