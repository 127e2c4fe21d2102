/** Finds whose a namespace of claims is, by the annotation that the backend writes. */
import { readServiceNamespaceOwner, serviceNamespaceAnnotation } from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";

/** Place of a claim. */
export interface Owner {
  /** Cluster namespace of the app cluster. */
  readonly tenant: string;
  /** Namespace in the app cluster. */
  readonly namespace: string;
}

/** Returns the owner of a namespace. One without an owner, and one that is gone, stands for itself; without a namespace both are empty. */
export function ownersBy(namespaces: readonly KubeObject[]): (namespace: string | undefined) => Owner {
  const owners = new Map(
    namespaces.map(({ metadata }) => [metadata.name, metadata.annotations?.[serviceNamespaceAnnotation]]),
  );
  return (namespace = "") => {
    const owner = readServiceNamespaceOwner(owners.get(namespace));
    return owner === undefined
      ? { tenant: namespace, namespace }
      : { tenant: owner.clusterNamespace, namespace: owner.consumerNamespace };
  };
}
