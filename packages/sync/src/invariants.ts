/**
 * What must hold between an app cluster and its tenant on the control plane, seen from outside: the same functions judge live
 * clusters (`klutch verify`) and the clusters of the fault simulation. They read one snapshot, decide nothing and know no history, so
 * changes that are on their way at that moment show as violations, too; check twice before you believe it.
 */
import {
  type APIServiceExport,
  claimedFromLabel,
  crdNameOf,
  readyConditionOf,
  secretNameFieldOf,
  syncerFinalizer,
} from "@klutch/api";
import {
  contains,
  type DynamicObject,
  isDeleting,
  isRecord,
  jsonEqual,
  keyOf,
  keyOfRef,
  type ObjectRef,
} from "@klutch/kube-core";
import { appliedPart, decidingContent, isBound, isToBeNamed, providerContent } from "./content.ts";
import { effectiveClaims, syncedType, syncedVersion } from "./crd-plan.ts";
import { ownedFields, surplusPaths } from "./fields.ts";
import { checkClaimed } from "./invariants-claimed.ts";
import { isolationOf, isOurs, type Places, placesIn, placesOf } from "./invariants-places.ts";
import type { BoundApi, InvariantSnapshot, Violation } from "./invariants-snapshot.ts";
import { checkMappings, checkTenancy } from "./invariants-tenancy.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import { projectStatus } from "./status-projection.ts";
import { ignoresGenerations, plainView, type StatusView, statusViewOf } from "./status-view.ts";
import { credentialsSecretOf, type MissingSecret, saidSecretReason } from "./taken-secret.ts";
import { isMarked } from "./unbind.ts";

const defaultGraceMs = 60_000;

/** All violations; empty when every promise holds. */
export function checkInvariants(snapshot: InvariantSnapshot): readonly Violation[] {
  const places = placesOf(snapshot);
  const apis = boundApisOf(snapshot);
  return [
    ...checkMappings(snapshot),
    ...apis.flatMap((api) => checkApi(snapshot, places, api)),
    ...checkFinalizers(snapshot, places, apis),
    ...checkTenancy(snapshot, places),
    ...checkClaimed(snapshot, places, apis),
  ];
}

/** The APIs that are compared. */
function boundApisOf({ consumer, provider }: InvariantSnapshot): readonly BoundApi[] {
  return provider.exports.flatMap((exported) => {
    const name = crdNameOf({ group: exported.spec.group, resource: exported.spec.names.plural });
    const binding = consumer.bindings.find(({ metadata }) => metadata.name === name);
    if (binding === undefined || binding.metadata.deletionTimestamp !== undefined) return [];
    const claims = effectiveClaims(binding.spec.permissionClaims ?? [], exported.spec.permissionClaims ?? []);
    const namespaced = exported.spec.scope === "Namespaced";
    const crd = consumer.crds.find(({ metadata }) => metadata.name === name);
    const view = viewOf(exported, crd);
    return [{ name, namespaced, isolation: isolationOf(exported, provider.objects[name]), claims, view }];
  });
}

/** Returns the view of generations in claims: from the CRD in the app cluster, or if that was not read, from its export. */
function viewOf({ metadata, spec }: APIServiceExport, crd: DynamicObject | undefined): StatusView {
  const said = {
    isIgnored: ignoresGenerations(metadata),
    secretNameField: secretNameFieldOf({ metadata }),
    readyCondition: readyConditionOf({ metadata }),
  };
  const version = syncedVersion(spec);
  const synced = crd === undefined ? undefined : syncedType(crd, spec, said);
  if (synced !== undefined || version === undefined) return synced?.view ?? plainView;
  const isSubresource = version.subresources?.status !== undefined;
  return statusViewOf(version.schema.openAPIV3Schema, { ...said, isSubresource });
}

/** Number of objects of a resource that were judged on each side; undefined for a side that was not read. */
export function countCompared(
  snapshot: InvariantSnapshot,
  resource: string,
): { readonly consumer: number | undefined; readonly provider: number | undefined } {
  const places = placesOf(snapshot);
  const api = boundApisOf(snapshot).find(({ name }) => name === resource);
  return {
    consumer: snapshot.consumer.objects[resource]?.length,
    provider: snapshot.provider.objects[resource]?.filter((one) => isOurs(places, one, api)).length,
  };
}

function checkApi(snapshot: InvariantSnapshot, places: Places, api: BoundApi): readonly Violation[] {
  const claims = snapshot.consumer.objects[api.name];
  const upstreams = snapshot.provider.objects[api.name]?.filter((one) => isOurs(places, one, api));
  if (claims === undefined || upstreams === undefined) return [];
  const { placeOf, consumerRefOf } = placesIn(places, api, claims, upstreams);
  const byPlace = new Map(upstreams.map((object) => [keyOf(object), object]));
  const accounted = new Set<string>();
  const found: Violation[] = [];
  const claimsByRef = new Map(claims.map((claim) => [keyOf(claim), claim]));
  for (const claim of claims) {
    const target = placeOf(claim);
    if (target !== undefined) {
      accounted.add(keyOfRef(target));
      found.push(...checkPair(snapshot, api, claim, target, byPlace.get(keyOfRef(target))));
    }
    found.push(...checkBookkeeping(api, claim));
  }
  for (const upstream of upstreams) {
    if (!isBound(upstream) || isDeleting(upstream)) continue;
    const place = keyOf(upstream);
    if (accounted.has(place)) continue;
    const consumerRef = consumerRefOf(upstream);
    const claim = consumerRef === undefined ? undefined : claimsByRef.get(keyOfRef(consumerRef));
    const object = { object: `${api.name} ${place}`, side: "provider" } as const;
    found.push(
      claim === undefined
        ? { invariant: "Orphan", ...object, message: "is marked as bound, but its claim does not exist" }
        : {
            invariant: "OneToOne",
            ...object,
            message: `is a second object of claim ${keyOf(claim)}, not at its place`,
          },
    );
  }
  return found;
}

function checkPair(
  snapshot: InvariantSnapshot,
  api: BoundApi,
  claim: DynamicObject,
  target: ObjectRef,
  upstream: DynamicObject | undefined,
): readonly Violation[] {
  if (isDeleting(claim)) return [];
  const object = `${api.name} ${keyOf(claim)}`;
  if (upstream === undefined) {
    if (!isMarked(claim) && !isOlder(snapshot, claim.metadata.creationTimestamp)) return [];
    const message = `has no object at the provider; ${keyOfRef(target)} is missing`;
    return [{ invariant: "OneToOne", object, side: "consumer", message }];
  }
  if (isDeleting(upstream)) return [];
  const found: Violation[] = [];
  const { tenant } = snapshot.provider;
  const wanted = providerContent(
    claim,
    target,
    tenant,
    snapshot.rule ?? defaultMetadataRule,
    isToBeNamed(api.isolation, upstream),
  );
  const [different] = differences(appliedPart(upstream), appliedPart(decidingContent(wanted, upstream)));
  if (different !== undefined) {
    const message = `${different} is not what the claim wants at ${keyOfRef(target)}`;
    found.push({ invariant: "Content", object, side: "consumer", message });
  }
  const owned = ownedFields(upstream);
  const [surplus] = [...surplusPaths(owned.applied, wanted), ...surplusPaths(owned.legacy, wanted)];
  if (surplus !== undefined) {
    const message = `${surplus.join(".")} was removed from the claim, but is still set at ${keyOfRef(target)}`;
    found.push({ invariant: "Content", object, side: "consumer", message });
  }
  return upstream.status === undefined ? found : [...found, ...checkStatus(snapshot, api, claim, upstream)];
}

function checkStatus(
  snapshot: InvariantSnapshot,
  { name, view }: BoundApi,
  claim: DynamicObject,
  upstream: DynamicObject,
): readonly Violation[] {
  const { now } = snapshot;
  const missingSecret = missingSecretOf(snapshot, view, claim, upstream);
  const shown = projectStatus({ view, claim, provider: upstream, notSent: undefined, missingSecret, now });
  if (jsonEqual(claim.status, shown)) return [];
  const [field = "status"] = [
    ...differences(claim.status, shown, "status"),
    ...differences(shown, claim.status, "status"),
  ];
  const message = `${field} is not what ${keyOf(upstream)} shows`;
  return [{ invariant: "Status", object: `${name} ${keyOf(claim)}`, side: "consumer", message }];
}

/** The Secret that the claim says it cannot have, unless the Secrets that were read show otherwise. */
function missingSecretOf(
  { consumer, provider }: InvariantSnapshot,
  view: StatusView,
  claim: DynamicObject,
  upstream: DynamicObject,
): MissingSecret | undefined {
  const reason = saidSecretReason(claim);
  const name = credentialsSecretOf(upstream, view);
  if (reason === undefined || name === undefined) return undefined;
  const secrets = consumer.objects["secrets"];
  const found = secrets?.find(
    ({ metadata }) => metadata.namespace === claim.metadata.namespace && metadata.name === name,
  );
  const isCopy = found?.metadata.labels?.[claimedFromLabel] === provider.tenant.namespaceUid;
  const isTaken = found !== undefined && !isCopy;
  const isSo = reason === "NameTaken" ? isTaken : !isCopy;
  return secrets !== undefined && !isSo ? undefined : { name, reason };
}

function checkFinalizers(
  snapshot: InvariantSnapshot,
  places: Places,
  apis: readonly BoundApi[],
): readonly Violation[] {
  const { consumer, provider } = snapshot;
  const bound = new Set(consumer.bindings.map(({ metadata }) => metadata.name));
  return Object.entries(consumer.objects).flatMap(([resource, objects]) => {
    const upstreams = provider.objects[resource];
    const api = apis.find(({ name }) => name === resource);
    const ours = upstreams?.filter((one) => isOurs(places, one, api)) ?? [];
    const taken = new Set(ours.map((one) => keyOf(one)));
    const { placeOf } = placesIn(places, api, objects, ours);
    return objects
      .filter(({ metadata }) => metadata.finalizers?.includes(syncerFinalizer) === true)
      .flatMap((claim): Violation[] => {
        const object = `${resource} ${keyOf(claim)}`;
        if (!bound.has(resource)) {
          const message = `has our finalizer, but no APIServiceBinding ${resource} resolves it`;
          return [{ invariant: "Finalizer", object, side: "consumer", message }];
        }
        if (upstreams === undefined || !isOlder(snapshot, claim.metadata.deletionTimestamp)) return [];
        const target = placeOf(claim);
        if (target !== undefined && taken.has(keyOfRef(target))) return [];
        const message = `has waited with our finalizer since ${claim.metadata.deletionTimestamp}, but the provider has nothing of it any more`;
        return [{ invariant: "Finalizer", object, side: "consumer", message }];
      });
  });
}

function checkBookkeeping(api: BoundApi, claim: DynamicObject): readonly Violation[] {
  const path = bookkeepingIn(claim.status, "status");
  if (path === undefined) return [];
  const object = `${api.name} ${keyOf(claim)}`;
  const message = `${path} is Klutch's own and does not belong there`;
  return [{ invariant: "Bookkeeping", object, side: "consumer", message }];
}

const ownName = /^([a-z0-9-]+\.)*klutch\.anynines\.com(\/|$)/;

/** Path of the first key, or of the first condition's type, that is one of ours. */
function bookkeepingIn(value: unknown, path: string): string | undefined {
  if (Array.isArray(value)) {
    return first(value.map((item, index) => () => bookkeepingIn(item, `${path}[${index}]`)));
  }
  if (!isRecord(value)) return undefined;
  if (typeof value["type"] === "string" && ownName.test(value["type"])) return `${path}.type`;
  return first(
    Object.entries(value).map(([key, child]) => () => {
      const inner = `${path}.${key}`;
      return ownName.test(key) ? inner : bookkeepingIn(child, inner);
    }),
  );
}

function first(attempts: readonly (() => string | undefined)[]): string | undefined {
  for (const attempt of attempts) {
    const found = attempt();
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the paths at which `observed` lacks the wanted value, without the values. */
function differences(observed: unknown, wanted: unknown, path = ""): readonly string[] {
  if (contains(observed, wanted)) return [];
  if (!isRecord(observed) || !isRecord(wanted)) return [path];
  return Object.entries(wanted).flatMap(([key, value]) =>
    differences(observed[key], value, path === "" ? key : `${path}.${key}`),
  );
}

const isOlder = ({ now, graceMs = defaultGraceMs }: InvariantSnapshot, since: string | undefined): boolean =>
  since !== undefined && now - Date.parse(since) > graceMs;
