/** Snapshot that invariants are judged on, and the report of a broken one. */
import type { APIServiceBinding, APIServiceExport, PermissionClaim } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import type { MetadataRule } from "./metadata-rules.ts";
import type { Isolation, Tenant } from "./namespaces.ts";
import type { StatusView } from "./status-view.ts";

/**
 * The promise that is broken.
 *
 * | name        | promise |
 * |-------------|---------|
 * | OneToOne    | a bound claim in a mapped namespace has exactly one object on the provider, at its place |
 * | Orphan      | nothing on the provider is marked as bound whose claim does not exist |
 * | Content     | spec, labels and annotations on the provider are what the claim wants |
 * | Status      | a claim shows the status of its object on the provider |
 * | Finalizer   | our finalizer is only where a binding can resolve it |
 * | Tenancy     | nothing of one tenant stands in a namespace of another |
 * | Claimed     | copies of claimed objects equal their sources; nothing is on the provider that no accepted permission claim covers |
 * | Bookkeeping | a claim's status holds nothing of Klutch's own |
 */
export type InvariantName =
  | "OneToOne"
  | "Orphan"
  | "Content"
  | "Status"
  | "Finalizer"
  | "Tenancy"
  | "Claimed"
  | "Bookkeeping";

/** All of them, in the order in which they are checked. */
export const invariantNames: readonly InvariantName[] = [
  "OneToOne",
  "Orphan",
  "Content",
  "Status",
  "Finalizer",
  "Tenancy",
  "Claimed",
  "Bookkeeping",
];

/** One broken promise. `message` names fields, never their values: they may be secret. */
export interface Violation {
  readonly invariant: InvariantName;
  /** `<resource> <namespace>/<name>`, of the side that `side` says. */
  readonly object: string;
  readonly side: "consumer" | "provider";
  readonly message: string;
}

/** Objects by resource (`crdNameOf`: `widgets.example.org`, `secrets`). A resource without an entry was not read and is not judged. */
export type ObjectsByResource = Readonly<Record<string, readonly DynamicObject[]>>;

/** Both clusters at one time. */
export interface InvariantSnapshot {
  /** Wall clock, milliseconds since the epoch. */
  readonly now: number;
  /** Time for which a change may be incomplete: a new claim without its object, a deletion without one. Default 60 000. */
  readonly graceMs?: number | undefined;
  /** Rule for the labels and annotations that are propagated to the provider. Default: `defaultMetadataRule`. */
  readonly rule?: MetadataRule | undefined;
  readonly consumer: {
    readonly objects: ObjectsByResource;
    /** Bindings to this provider only. */
    readonly bindings: readonly APIServiceBinding[];
    readonly crds: readonly DynamicObject[];
    readonly namespaces: readonly DynamicObject[];
  };
  readonly provider: {
    /** As far as they can be read, also outside of our namespaces; those outside may be metadata only. */
    readonly objects: ObjectsByResource;
    /** Exports of our cluster namespace. */
    readonly exports: readonly APIServiceExport[];
    /** Mappings of our cluster namespace. */
    readonly apiServiceNamespaces: readonly DynamicObject[];
    /** Undefined when they cannot be read; then their annotations are not judged. */
    readonly namespaces?: readonly DynamicObject[] | undefined;
    readonly tenant: Tenant;
    readonly otherTenants: readonly Tenant[];
  };
}

/** A bound API of this provider whose export exists and that is not being unbound. */
export interface BoundApi {
  readonly name: string;
  readonly namespaced: boolean;
  /** For cluster-scoped APIs. */
  readonly isolation: Isolation;
  /** Accepted by the app cluster and made by the export. */
  readonly claims: readonly PermissionClaim[];
  /** View of the generations that its claims' status can show. */
  readonly view: StatusView;
}
