/**
 * Which of the provider's namespace mappings count. The people who run the provider can create and fill them, so each is doubted: it
 * must name a namespace that is only this tenant's, and claimed objects cross only where the app cluster itself has put
 * something that is bound.
 *
 * | consumer namespace             | claims to it, status back          | adoption | claimed objects |
 * |--------------------------------|-----------------------------------|----------|-----------------|
 * | holds a claim made here        | yes                               | yes      | yes             |
 * | holds none, or only adopted ones | yes                             | yes      | only copies whose source is gone are removed |
 * | `kube-*`, `klutch-*`           | yes: a person put the claim there | no       | as above        |
 */
import { serviceNamespaceName, serviceNamespaceOwner } from "@klutch/api";
import { isDnsLabel } from "@klutch/kube-core";
import type { Mapping, Tenant } from "./namespaces.ts";

/** Facts about a mapping that names its service namespace. */
export interface DoubtedMapping {
  readonly tenant: Tenant;
  readonly consumerNamespace: string;
  readonly providerNamespace: string;
  /** Consumer namespaces whose mappings name the same service namespace; this one is among them. */
  readonly sharers: readonly string[];
  /** Value of the service namespace's own annotation that says whose it is; undefined until it has been asked for. */
  readonly proof: string | undefined;
}

/** Returns true for namespaces of Kubernetes and Klutch, which claimed objects never enter. */
export function isSystemNamespace(consumerNamespace: string): boolean {
  return consumerNamespace.startsWith("kube-") || consumerNamespace.startsWith("klutch-");
}

/** Returns true if the service namespace's name follows from the tenant's and the consumer's; other names must be proven. */
export function hasUsualName({ tenant, consumerNamespace, providerNamespace }: DoubtedMapping): boolean {
  return providerNamespace === serviceNamespaceName(tenant.namespace, consumerNamespace);
}

/** The mapping as it counts: one that does not is pending, and says why. */
export function judgeMapping(doubted: DoubtedMapping): Mapping {
  const { tenant, consumerNamespace, providerNamespace, sharers, proof } = doubted;
  const refuse = (why: string): Mapping => ({ state: "pending", why });
  if (!isDnsLabel(consumerNamespace) || !isDnsLabel(providerNamespace))
    return refuse("the provider's APIServiceNamespace does not hold valid names of namespaces");
  if (providerNamespace === tenant.namespace)
    return refuse("the provider's status.namespace is the cluster namespace itself");
  if (sharers.length > 1)
    return refuse("the provider gave the same namespace to another namespace of this cluster");
  if (!hasUsualName(doubted) && proof !== serviceNamespaceOwner(tenant.namespace, consumerNamespace))
    return refuse("the provider's namespace has no annotation that says it belongs to this one");
  return { state: "ready", providerNamespace };
}
