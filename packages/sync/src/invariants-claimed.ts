/** That copies of claimed objects equal their sources, and that nothing of the consumer is on the provider without an accepted permission claim. */
import { claimedFromLabel, crdNameOf, resourceOwnerAnnotation } from "@klutch/api";
import { type DynamicObject, isDeleting, keyOfRef, type ObjectRef, refOfObject } from "@klutch/kube-core";
import { type ClaimedStep, planClaimed } from "./claimed.ts";
import {
  type CompiledPermissionClaim,
  compilePermissionClaim,
  isSelected,
} from "./compiled-permission-claim.ts";
import { isAdopted } from "./content.ts";
import { isOurs, type Places } from "./invariants-places.ts";
import type { BoundApi, InvariantSnapshot, Violation } from "./invariants-snapshot.ts";
import { isSystemNamespace } from "./mapping-rules.ts";
import { consumerNameOf, providerRefOf } from "./namespaces.ts";

interface Pair {
  readonly consumerRef: ObjectRef;
  readonly providerRef: ObjectRef;
  consumer: DynamicObject | undefined;
  provider: DynamicObject | undefined;
}

/** Checks every resource of the provider that is not itself a bound API. */
export function checkClaimed(
  snapshot: InvariantSnapshot,
  places: Places,
  apis: readonly BoundApi[],
): readonly Violation[] {
  const permissionClaims = permissionClaimsOf(apis);
  const bound = new Set(apis.map(({ name }) => name));
  const inhabited = new Set(
    apis
      .flatMap(({ name }) => snapshot.consumer.objects[name] ?? [])
      .filter((object) => !isAdopted(object))
      .map(({ metadata }) => metadata.namespace),
  );
  const isOpen = ({ namespace }: ObjectRef): boolean =>
    namespace === undefined || (inhabited.has(namespace) && !isSystemNamespace(namespace));
  return Object.keys(snapshot.provider.objects)
    .filter((resource) => !bound.has(resource))
    .flatMap((resource) =>
      pairsOf(snapshot, places, resource).flatMap((pair) =>
        checkPair(places, resource, permissionClaims.get(resource) ?? [], isOpen, pair),
      ),
    );
}

/** Accepted claims by resource. */
function permissionClaimsOf(
  apis: readonly BoundApi[],
): ReadonlyMap<string, readonly CompiledPermissionClaim[]> {
  const permissionClaims = new Map<string, CompiledPermissionClaim[]>();
  for (const claim of apis.flatMap(({ claims }) => claims)) {
    const name = crdNameOf(claim);
    permissionClaims.set(name, [...(permissionClaims.get(name) ?? []), compilePermissionClaim(claim)]);
  }
  return permissionClaims;
}

function pairsOf(snapshot: InvariantSnapshot, places: Places, resource: string): readonly Pair[] {
  const pairs = new Map<string, Pair>();
  for (const consumer of snapshot.consumer.objects[resource] ?? []) {
    const consumerRef = refOfObject(consumer);
    const providerRef = providerRefOf(places.tenant, consumerRef, places.mapping(consumerRef.namespace));
    if (providerRef === undefined) continue;
    pairs.set(keyOfRef(providerRef), { consumerRef, providerRef, consumer, provider: undefined });
  }
  for (const provider of snapshot.provider.objects[resource] ?? []) {
    if (!isOurs(places, provider)) continue;
    const providerRef = refOfObject(provider);
    const known = pairs.get(keyOfRef(providerRef));
    if (known !== undefined) known.provider = provider;
    else {
      const { namespace, name } = providerRef;
      const consumerRef =
        namespace === undefined
          ? { name: consumerNameOf(places.tenant, provider) ?? name }
          : { namespace: places.consumerOf.get(namespace), name };
      pairs.set(keyOfRef(providerRef), { consumerRef, providerRef, consumer: undefined, provider });
    }
  }
  return [...pairs.values()];
}

function checkPair(
  places: Places,
  resource: string,
  permissionClaims: readonly CompiledPermissionClaim[],
  isOpen: (consumerRef: ObjectRef) => boolean,
  pair: Pair,
): readonly Violation[] {
  const { consumer, provider, consumerRef, providerRef } = pair;
  const violation = (
    invariant: "Claimed" | "Tenancy",
    side: "consumer" | "provider",
    message: string,
  ): Violation => ({
    invariant,
    side,
    object: `${resource} ${keyOfRef(side === "consumer" ? consumerRef : providerRef)}`,
    message,
  });
  const covering = permissionClaims.filter((permissionClaim) =>
    isSelected(permissionClaim, consumerRef, provider ?? consumer),
  );
  const mayBeCopied = covering.some(
    (permissionClaim) => permissionClaim.owner !== "Provider" || permissionClaim.autoAdopt,
  );
  if (provider !== undefined && cameFromConsumer(provider) && !isDeleting(provider) && !mayBeCopied) {
    return [violation("Claimed", "provider", "comes from the consumer, but no accepted claim lets it leave")];
  }
  const [permissionClaim] = covering.length > 0 ? covering : permissionClaims;
  if (permissionClaim === undefined) return [];
  if (consumer !== undefined && provider !== undefined && markOf(consumer) === "Provider") {
    const from = consumer.metadata.labels?.[claimedFromLabel];
    if (covering.length > 0 && from !== places.tenant.namespaceUid) {
      const message = `label ${claimedFromLabel} is ${from ?? "not set"}, it must be ${places.tenant.namespaceUid}`;
      return [violation("Tenancy", "consumer", message)];
    }
  }
  const { step } = planClaimed({
    ...pair,
    permissionClaim,
    tenant: places.tenant,
    resource,
    isOpen: isOpen(consumerRef),
  });
  if (step === undefined) return [];
  return [violation("Claimed", step.on, describe(step, pair))];
}

const markOf = ({ metadata }: DynamicObject): string | undefined =>
  metadata.annotations?.[resourceOwnerAnnotation];

const cameFromConsumer = (provider: DynamicObject): boolean =>
  markOf(provider) === "Consumer" || provider.metadata.labels?.[claimedFromLabel] !== undefined;

function describe(step: ClaimedStep, { consumerRef, providerRef }: Pair): string {
  const source =
    step.on === "consumer"
      ? `${keyOfRef(providerRef)} of the provider`
      : `${keyOfRef(consumerRef)} of the consumer`;
  switch (step.do) {
    case "create":
      return `is missing; its source is ${source}`;
    case "replace":
      return `differs from its source, ${source}`;
    case "patch":
      return `lacks what its copy, ${source}, may set in it`;
    case "writeStatus":
      return `does not show the status of its source, ${source}`;
    case "delete":
      return `is a copy without an object that an accepted claim covers; its source was ${source}`;
  }
}
