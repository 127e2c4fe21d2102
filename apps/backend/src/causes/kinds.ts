/** Finds the claim kinds that are bound, and the kinds of their composites: Crossplane makes both CRDs from one definition. */
import type { APIServiceExport } from "@klutch/api";
import { resourceTypeOf } from "@klutch/kube";
import { conditionsOf, isTrue, type KubeObject, type ResourceType } from "@klutch/kube-core";

/** A kind of claims with that of its composites. */
export interface ClaimKind {
  readonly claim: ResourceType;
  readonly composite: ResourceType;
}

/** Returns those kinds by the name of the claims' CRD; a namespaced composite is its own claim and says everything itself. */
export function claimKinds(
  exports: Iterable<APIServiceExport>,
  crds: readonly KubeObject[],
): ReadonlyMap<string, ClaimKind> {
  const byName = new Map(crds.map((crd) => [crd.metadata.name ?? "", crd]));
  const kinds = new Map<string, ClaimKind>();
  for (const [name, claim] of boundKinds(exports, byName)) {
    const crd = byName.get(name);
    const definition = crd && definitionOf(crd);
    if (definition === undefined) continue;
    const other = crds.find((one) => one !== crd && isServed(one) && definitionOf(one) === definition);
    const composite = other && resourceTypeOf(other);
    if (composite?.namespaced === false) kinds.set(name, { claim, composite });
  }
  return kinds;
}

/** Returns the namespaced kinds that app clusters have bound and that this cluster serves, by the names of their CRDs. */
export function boundKinds(
  exports: Iterable<APIServiceExport>,
  crds: { readonly get: (name: string) => KubeObject | undefined },
): ReadonlyMap<string, ResourceType> {
  const names = new Set([...exports].map(({ metadata }) => metadata.name ?? ""));
  const kinds = new Map<string, ResourceType>();
  for (const name of names) {
    const crd = crds.get(name);
    const type = crd !== undefined && isServed(crd) ? resourceTypeOf(crd) : undefined;
    if (type?.namespaced === true) kinds.set(name, type);
  }
  return kinds;
}

function isServed(crd: KubeObject): boolean {
  return isTrue(conditionsOf(crd), "Established");
}

/** UID of the CompositeResourceDefinition that a CRD is made from. */
function definitionOf({ metadata }: KubeObject): string | undefined {
  return metadata.ownerReferences?.find(
    ({ kind, apiVersion }) =>
      kind === "CompositeResourceDefinition" && apiVersion.startsWith("apiextensions.crossplane.io/"),
  )?.uid;
}
