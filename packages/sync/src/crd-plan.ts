/** The CRD of the app cluster that follows from an export. */
import {
  apiServiceBindings,
  type APIServiceExportSpec,
  crdFromExport,
  type PermissionClaim,
} from "@klutch/api";
import {
  conditionsOf,
  contains,
  type DynamicObject,
  isOwnedBy,
  isOwnerOfKind,
  isRecord,
  isTrue,
  jsonHash,
  listAt,
  type OwnerReference,
  ownerReference,
  recordAt,
  type ResourceType,
} from "@klutch/kube-core";
import { keepStoredVersions, versionsOf } from "./schema-rollout.ts";
import { type SaidOfKind, type StatusView, statusViewOf, withStatusDefault } from "./status-view.ts";

/** On CRDs that we wrote: hash of what was wanted, to notice what an export no longer has. */
export const crdHashAnnotation = "klutch.anynines.com/export-hash";

/** The binding that is to own the CRD. */
export interface BindingIdentity {
  readonly name: string;
  readonly uid: string;
}

/** Decision about the CRD. */
export type CrdPlan =
  | { readonly do: "nothing" }
  | { readonly do: "create"; readonly crd: DynamicObject }
  | { readonly do: "replace"; readonly crd: DynamicObject }
  /** Somebody else's CRD; it is never touched. `owner` says whose. */
  | { readonly do: "leaveForeign"; readonly owner: string }
  /** The export is not the one that was bound. `change` names the difference. */
  | { readonly do: "refuseIdentity"; readonly change: string }
  /** The CRD is no longer the one that followed from the same export: someone here created it again. `change` says what the export has. */
  | { readonly do: "refuseRemade"; readonly change: string };

/**
 * Decides for one CRD. A CRD whose owner is a binding of the same name that is no longer there is taken over: binding again gives the
 * binding a new UID, and the API must not be lost to its own past.
 */
export function planCrd(observed: {
  readonly spec: APIServiceExportSpec;
  readonly binding: BindingIdentity;
  readonly crd: DynamicObject | undefined;
  /** Returns true if an APIServiceBinding with this UID exists. */
  readonly bindingExists: (uid: string) => boolean;
}): CrdPlan {
  const { spec, binding, crd } = observed;
  const owner = { ...ownerReference(apiServiceBindings, binding), controller: true };
  const exported = crdFromExport(spec, owner);
  const versions = listAt(exported.spec, "versions").map((version) => withStatusDefault(recordAt(version)));
  const wanted = { ...exported, spec: { ...exported.spec, versions } };
  const hash = jsonHash(wanted.spec);
  const body = crd === undefined ? wanted : { ...wanted, spec: withStoredVersions(wanted.spec, crd) };
  const annotations = { [crdHashAnnotation]: hash };
  if (crd === undefined) {
    return { do: "create", crd: { ...body, metadata: { ...body.metadata, annotations } } };
  }
  const foreign = foreignOwner(crd, binding, observed.bindingExists);
  if (foreign !== undefined) return { do: "leaveForeign", owner: foreign };
  const change = identityChange(crd, spec);
  const isOfThisExport = crd.metadata.annotations?.[crdHashAnnotation] === hash;
  if (change !== undefined) return { do: isOfThisExport ? "refuseRemade" : "refuseIdentity", change };
  const isCurrent = isOfThisExport && contains(crd.spec, body.spec);
  if (isOwnedBy(crd, binding.uid) && isCurrent) return { do: "nothing" };
  const { labels, uid, resourceVersion, annotations: present, finalizers } = crd.metadata;
  return {
    do: "replace",
    crd: {
      ...body,
      metadata: {
        ...body.metadata,
        uid,
        resourceVersion,
        ...(labels === undefined ? {} : { labels }),
        ...(finalizers === undefined ? {} : { finalizers }),
        annotations: { ...present, ...annotations },
        ownerReferences: [...othersThanBindings(crd), owner],
      },
    },
  };
}

/**
 * In what the export differs from the API as it was bound, for a person; undefined where it does not. An API is its group, plural, kind
 * and scope, with the names that follow from them; short names and categories may change. A CRD that was never served has no users.
 */
export function identityChange(crd: DynamicObject, spec: APIServiceExportSpec): string | undefined {
  const bound = recordAt(crd.spec);
  if (!isTrue(conditionsOf(crd), "Established")) return undefined;
  const names = recordAt(bound, "names");
  const { kind, plural, singular = kind.toLowerCase(), listKind = `${kind}List` } = spec.names;
  const compared: readonly (readonly [string, unknown, string])[] = [
    ["group", bound["group"], spec.group],
    ["names.plural", names["plural"], plural],
    ["names.kind", names["kind"], kind],
    ["names.singular", names["singular"], singular === "" ? kind.toLowerCase() : singular],
    ["names.listKind", names["listKind"], listKind === "" ? `${kind}List` : listKind],
    ["scope", bound["scope"], spec.scope],
  ];
  const changes = compared
    .filter(([, before, after]) => before !== undefined && before !== after)
    .map(
      ([field, before, after]) =>
        `spec.${field} is ${JSON.stringify(after)} instead of ${JSON.stringify(before)}`,
    );
  return changes.length === 0 ? undefined : changes.join(", ");
}

function withStoredVersions(
  wanted: Readonly<Record<string, unknown>>,
  crd: DynamicObject,
): Readonly<Record<string, unknown>> {
  return keepStoredVersions(wanted, crd.spec, listAt(crd.status, "storedVersions").map(String));
}

/** Whose the CRD is when it is not ours; undefined when it is ours or may be taken over. */
function foreignOwner(
  crd: DynamicObject,
  binding: BindingIdentity,
  bindingExists: (uid: string) => boolean,
): string | undefined {
  const owners = (crd.metadata.ownerReferences ?? []).filter((owner) => isBinding(owner));
  const [owner] = owners;
  if (owner === undefined) return "no APIServiceBinding";
  if (owners.some(({ uid }) => uid === binding.uid)) return undefined;
  if (owner.name === binding.name && !bindingExists(owner.uid)) return undefined;
  return `APIServiceBinding ${owner.name} (${owner.uid})`;
}

function othersThanBindings(crd: DynamicObject): readonly OwnerReference[] {
  return (crd.metadata.ownerReferences ?? []).filter((owner) => !isBinding(owner));
}

function isBinding(owner: OwnerReference): boolean {
  return isOwnerOfKind(owner, apiServiceBindings);
}

/** A version as far as the choice among several needs it. */
type ServedVersion = Pick<APIServiceExportSpec["versions"][number], "name" | "served" | "storage">;

/**
 * The version that is synced: the storage one when served, so that no write is converted; else the first served one. With `crd`,
 * only versions that the app cluster serves as well: its CRD may lag behind while a breaking change is held.
 */
export function syncedVersion<V extends ServedVersion>(
  spec: { readonly versions: readonly V[] },
  crd?: DynamicObject,
): V | undefined {
  const local = crd === undefined ? undefined : servedVersions(crd);
  const served = spec.versions.filter(
    (version) => version.served && (local === undefined || local.has(version.name)),
  );
  return served.find((version) => version.storage) ?? served[0];
}

/** Synced type, whether it has a status subresource, and what its status can show. */
export interface SyncedType {
  readonly type: ResourceType;
  readonly statusSubresource: boolean;
  readonly view: StatusView;
}

/**
 * The resource as our own CRD in the app cluster has it: nothing that an export says later makes it another one. Of its versions one
 * that the provider still serves; undefined when there is none. `said` stands on the export, default nothing.
 */
export function syncedType(
  crd: DynamicObject,
  spec: { readonly versions: readonly ServedVersion[] },
  said: SaidOfKind = { isIgnored: false },
): SyncedType | undefined {
  const name = syncedVersion(spec, crd)?.name;
  const found = versionsOf(crd.spec).find((candidate) => candidate.name === name);
  if (name === undefined || found === undefined || !isRecord(crd.spec)) return undefined;
  const { group, names, scope } = crd.spec;
  if (typeof group !== "string" || !isRecord(names)) return undefined;
  const { plural, kind } = names;
  if (typeof plural !== "string" || typeof kind !== "string") return undefined;
  const { subresources } = found.raw;
  const statusSubresource = isRecord(subresources) && isRecord(subresources["status"]);
  return {
    type: { group, version: name, plural, kind, namespaced: scope === "Namespaced" },
    statusSubresource,
    view: statusViewOf(found.schema, { ...said, isSubresource: statusSubresource }),
  };
}

/** The resource as our own CRD alone has it, while no export can be read; undefined when it serves no version. */
export function localType(crd: DynamicObject): SyncedType | undefined {
  const versions = versionsOf(crd.spec).map(({ name, raw }) => {
    return { name, served: raw["served"] !== false, storage: raw["storage"] === true };
  });
  return syncedType(crd, { versions });
}

/** Names of the versions that a CRD serves. */
export function servedVersions({ spec }: DynamicObject): ReadonlySet<string> {
  const served = versionsOf(spec).filter(({ raw }) => raw["served"] !== false);
  return new Set(served.map(({ name }) => name));
}

/** Required claims of the export that are not accepted, with the reason that the binding gets for it. */
export function missingClaims(
  answered: readonly (PermissionClaim & { readonly state: "Accepted" | "Rejected" })[],
  asked: readonly PermissionClaim[],
): readonly { readonly claim: PermissionClaim; readonly rejected: boolean }[] {
  return asked
    .filter(({ required }) => required === true)
    .flatMap((claim) => {
      const answers = answered.filter((answer) => isSameClaim(answer, claim));
      if (answers.some(({ state }) => state === "Accepted")) return [];
      return [{ claim, rejected: answers.length > 0 }];
    });
}

function isSameClaim(left: PermissionClaim, right: PermissionClaim): boolean {
  return (
    left.resource === right.resource &&
    (left.group ?? "") === (right.group ?? "") &&
    left.selector?.owner === right.selector?.owner
  );
}

/** The accepted claims that the export really makes; an acceptance of something that is not asked for grants nothing. */
export function effectiveClaims<T extends PermissionClaim & { readonly state: "Accepted" | "Rejected" }>(
  answered: readonly T[],
  asked: readonly PermissionClaim[],
): readonly T[] {
  return answered.filter(
    (answer) => answer.state === "Accepted" && asked.some((claim) => isSameClaim(answer, claim)),
  );
}
