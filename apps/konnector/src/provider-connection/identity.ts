/**
 * Which control plane this is. A provider that was set up again at the same address looks empty, and acting on its emptiness would undo
 * or duplicate everything; so each binding pins the provider it was made with.
 */
import { clusterIdentityNamespace, providerUidAnnotation, serviceNamespaceAnnotation } from "@klutch/api";
import { type DynamicObject, namespaces } from "@klutch/kube-core";
import { type Clock, isForbidden, type KubeClient } from "@klutch/kube";
import type { Tenant } from "@klutch/sync";
import { WrongProviderError } from "../errors.ts";

/** UIDs of the cluster namespace and, where the account may read it, of kube-system. */
export interface ProviderIdentity {
  readonly namespaceUid: string;
  readonly kubeSystemUid: string | undefined;
}

/** Asks the provider. Throws when the cluster namespace cannot be read. */
export async function readIdentity(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<ProviderIdentity> {
  const own = await client.get<DynamicObject>(namespaces, { name: namespace }, { signal });
  return { namespaceUid: own.metadata.uid ?? "", kubeSystemUid: await kubeSystemUid(client, signal) };
}

async function kubeSystemUid(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    const found = await client.find<DynamicObject>(
      namespaces,
      { name: clusterIdentityNamespace },
      { signal },
    );
    return found?.metadata.uid;
  } catch (error) {
    // Backends of other versions do not grant it; the cluster namespace's UID alone is nearly as good.
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** Returns the owner that a service namespace names: `<cluster namespace>/<consumer namespace>`; undefined when it names none. */
export async function readOwner(
  client: KubeClient,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const found = await client.find<DynamicObject>(namespaces, { name }, { signal });
    return found?.metadata.annotations?.[serviceNamespaceAnnotation];
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** The annotation's value: `namespace=<uid>,kube-system=<uid>`. */
export function formatIdentity({ namespaceUid, kubeSystemUid: system }: ProviderIdentity): string {
  return system === undefined
    ? `namespace=${namespaceUid}`
    : `namespace=${namespaceUid},kube-system=${system}`;
}

/** Returns an error if the binding was made with another control plane; none for one that has not been bound yet. */
export function pinProblem(
  binding: DynamicObject,
  identity: ProviderIdentity,
): WrongProviderError | undefined {
  const pinned = binding.metadata.annotations?.[providerUidAnnotation];
  if (pinned === undefined) return undefined;
  const present = new Map(
    Object.entries({ namespace: identity.namespaceUid, "kube-system": identity.kubeSystemUid }),
  );
  for (const part of pinned.split(",")) {
    const [name = "", uid] = part.split("=");
    const found = present.get(name);
    if (uid !== undefined && found !== undefined && found !== uid)
      return new WrongProviderError(name, uid, found);
  }
  return undefined;
}

/**
 * Throws `WrongProviderError` when none of these bindings may use the control plane. One that was made with another does not hold up the
 * others, and is refused by itself.
 */
export function assertPinned(bindings: readonly DynamicObject[], identity: ProviderIdentity): void {
  const problems = bindings.map((binding) => pinProblem(binding, identity));
  const [first] = problems;
  if (first !== undefined && problems.every((problem) => problem !== undefined)) throw first;
}

/** Time for which an answer about the provider's identity is valid. */
const freshMs = 5_000;

/** Makes sure, before an absence on the provider is believed, that it still is the provider. */
export function createProviderGuard(
  client: KubeClient,
  { namespace, namespaceUid }: Tenant,
  clock: Clock,
): (signal: AbortSignal) => Promise<void> {
  let confirmedAt = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    if (clock.monotonic() - confirmedAt < freshMs) return;
    const own = await client.get<DynamicObject>(namespaces, { name: namespace }, { signal });
    if (own.metadata.uid !== namespaceUid) {
      throw new WrongProviderError("namespace", namespaceUid, own.metadata.uid ?? "(none)");
    }
    confirmedAt = clock.monotonic();
  };
}
