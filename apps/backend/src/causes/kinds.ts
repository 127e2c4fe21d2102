/** Finds for the claim kinds that are bound the kinds of their composites: Crossplane makes both CRDs from one definition. */
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
  const bound = new Set([...exports].map(({ metadata }) => metadata.name ?? ""));
  const found = crds
    .filter((crd) => bound.has(crd.metadata.name ?? "") && isServed(crd))
    .flatMap((crd) => {
      const definition = definitionOf(crd);
      const other = crds.find(
        (one) => one !== crd && isServed(one) && definition !== undefined && definitionOf(one) === definition,
      );
      const [claim, composite] = [
        resourceTypeOf(crd),
        other === undefined ? undefined : resourceTypeOf(other),
      ];
      if (claim?.namespaced !== true || composite === undefined || composite.namespaced) return [];
      return [[crd.metadata.name ?? "", { claim, composite }] as const];
    });
  return new Map(found);
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
