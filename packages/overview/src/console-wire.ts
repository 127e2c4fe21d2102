/**
 * The wire between the console's server (apps/backend/src/console) and its pages (apps/console): JSON below `/console/api`. The server sends a
 * row only to a person whom the control plane's RBAC, or the membership in the tenant, lets read it. All times are RFC 3339 by the clock of the
 * control plane; all texts are words of strangers that the server bounded and freed from control characters, never markup.
 *
 * | request                                              | answer                                                          |
 * |------------------------------------------------------|-----------------------------------------------------------------|
 * | `GET /console/api/viewer`                            | `Viewer`; 401 `ConsoleError` without a session                  |
 * | `GET /console/api/rows/<collection>`                 | `Rows`, gzip, with an ETag; 403 if the person may not read it   |
 * | `GET /console/api/explain?api=&tenant=&namespace=&name=` | `Explanation` of the claim of an `InstanceRow`, by its words; 404 also for another tenant's |
 * | `GET /console/api/changes`                           | server-sent events: first `viewer`, from when on no change is   |
 * |                                                      | missed, so rows are loaded after it; `change` with a `Change`, at most one a |
 * |                                                      | second and collection; `viewer` with a `Viewer` when the rights |
 * |                                                      | changed; `end` with a `ConsoleError` when the session is over   |
 * | `GET /console/api/actions?collection=&row=`          | `OfferedActions`: those that the viewer may do to the object behind a row at this moment |
 * | `POST /console/actions/<name>` with an `ActionRequest` | `ActionDone`; 409 if the object is not as it was when the action was offered |
 * | `GET /console/login`, `POST /console/logout`         | the login at the identity provider; the end of the session      |
 */

/** Collections of rows, in the order of the pages. */
export const collections = [
  "problems",
  "offers",
  "clusters",
  "konnectors",
  "instances",
  "members",
  "grants",
  "audit",
  "cost",
] as const;
export type Collection = (typeof collections)[number];

/** The person who looks, and what they may see. */
export interface Viewer {
  /** Name to show. */
  readonly name: string;
  /** True if RBAC lets them read the app clusters of all tenants. */
  readonly seesAll: boolean;
  /** Tenants that they are a member of, by cluster namespace. */
  readonly tenants: readonly string[];
  /** Collections that they may read; others are not offered to them. */
  readonly collections: readonly Collection[];
  readonly sessionEndsAt: string;
  /** Name of the provider, as the binding page shows it. */
  readonly provider: string;
  /** Collections whose rows have actions; absent where the console only reads. */
  readonly actions?: readonly Collection[];
}

/** `pending`: too new to say. */
export type Health = "well" | "pending" | "problem" | "deleting";

/** Money: an amount as decimal text with two digits, and an ISO 4217 code. */
export interface Money {
  readonly amount: string;
  readonly currency: string;
}

interface RowBase {
  /** Stable and unique in its collection. */
  readonly id: string;
}

/** Something that is not well. */
export interface ProblemRow extends RowBase {
  readonly severity: "error" | "warning";
  /** The collection and the id of the row that it is about; of `cost` there is no such row, and of `konnectors` the id is the name of a roll-out. */
  readonly about: {
    readonly collection: "offers" | "clusters" | "konnectors" | "instances" | "cost";
    readonly id: string;
  };
  /** Title of the object, such as `prod-eu` or `team-a/orders`. */
  readonly title: string;
  readonly tenant: string;
  /** Condition type and reason, in CamelCase. */
  readonly reason: string;
  readonly says: string;
  readonly since: string | undefined;
  /** The next step for the person who can go on. */
  readonly next: string;
  readonly who: "developer" | "operator" | "broker" | "none";
}

/** A plan of an offer. */
export interface OfferedPlan {
  readonly name: string;
  readonly words: string;
  /** `backupGiB`, a decimal text: a GiB of backups for a month, in the same currency. */
  readonly perMonth?: Money & { readonly backupGiB?: string };
}

/** An API that the control plane offers. */
export interface OfferRow extends RowBase {
  /** `<plural>.<group>`. */
  readonly api: string;
  readonly kind: string;
  /** Title of its service, such as PostgreSQL; empty for an API of no service. */
  readonly service: string;
  readonly plans: readonly OfferedPlan[];
  readonly health: Health;
  readonly problem: string;
  /** Tenants with it, of those that the viewer may see. */
  readonly boundBy: readonly string[];
}

/** An app cluster. */
export interface ClusterRow extends RowBase {
  /** Cluster namespace. */
  readonly tenant: string;
  readonly name: string;
  readonly owner: string;
  readonly boundBy: string;
  readonly members: number;
  readonly apis: readonly string[];
  readonly version: string;
  readonly lastHeartbeat: string | undefined;
  readonly credentialEnds: string | undefined;
  /** Claims that are being deleted and are held. */
  readonly heldDeletions: number;
  readonly claims: number;
  readonly notReady: number;
  readonly health: Health;
  readonly problem: string;
}

/** Version of an app cluster's konnector, and its place in the roll-out that it belongs to. */
export interface KonnectorRow extends RowBase {
  /** Cluster namespace. */
  readonly tenant: string;
  /** Name of the app cluster. */
  readonly name: string;
  /** In the konnector's own words. */
  readonly version: string;
  /** Version that the control plane wants; empty for none. */
  readonly wanted: string;
  /** Versions that the app cluster's operator allows; empty for none. */
  readonly follows: string;
  /** Name of the KonnectorRollout; empty if none selects the app cluster. */
  readonly rollout: string;
  /** Phase of the roll-out. */
  readonly phase: string;
  /** Labels of Tenants that make the channel of the roll-out; empty for all. */
  readonly channel: string;
  /** The wave that gave it the version, from 1; undefined before that. */
  readonly wave: number | undefined;
  /** `well` also without a roll-out. */
  readonly health: Health;
  /** Reason for which it does not run the version; empty if it does. */
  readonly says: string;
  /** Reason for which the roll-out has stopped; empty if it has not. */
  readonly stopped: string;
  /** The next step; empty if there is none. */
  readonly next: string;
}

/** A claim of an app cluster: an instance, a binding, a backup, … */
export interface InstanceRow extends RowBase {
  readonly api: string;
  readonly kind: string;
  readonly tenant: string;
  /** Name of the app cluster. */
  readonly cluster: string;
  /** Namespace in the app cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly plan: string;
  readonly health: Health;
  /** Reason of Ready, or of what keeps it from being ready. */
  readonly reason: string;
  readonly problem: string;
  readonly created: string;
  readonly lastBackup: string | undefined;
  readonly perMonth: Money | undefined;
}

/** A person who bound, as a member of a tenant. */
export interface MemberRow extends RowBase {
  readonly tenant: string;
  readonly name: string;
  readonly issuer: string;
  readonly lastBound: string | undefined;
}

/** Credentials that somebody got. */
export interface GrantRow extends RowBase {
  readonly tenant: string;
  readonly who: string;
  readonly way: string;
  readonly templates: readonly string[];
  readonly at: string;
}

/** One Event of a tenant: who did what. */
export interface AuditRow extends RowBase {
  readonly tenant: string;
  readonly at: string;
  readonly reason: string;
  readonly says: string;
}

/** One line of this month's bill. */
export interface CostRow extends RowBase {
  readonly tenant: string;
  readonly service: string;
  readonly plan: string;
  readonly month: string;
  readonly hours: number;
  /** Absent if no backup was kept. */
  readonly backups?: CostBackups;
  /** Absent if no size is known. */
  readonly data?: CostData;
  /** Databases without a session for 30 days; absent if none is known. */
  readonly idle?: CostIdle;
  /** Backups included. */
  readonly cost: Money | undefined;
}

/** Backups of a line. */
export interface CostBackups {
  /** Backups that were done in the month. */
  readonly made: number;
  /** Decimal text: GiB that were kept, times months; undefined if all sizes are unknown. */
  readonly gibMonths: string | undefined;
  /** Whether some sizes are unknown. */
  readonly lacksSizes: boolean;
}

/** Size of the databases of a line that exist now. */
export interface CostData {
  /** Sum of the known sizes. */
  readonly bytes: number;
  /** True if some sizes are unknown. */
  readonly lacksSizes: boolean;
}

/** Databases of a line that no one uses. */
export interface CostIdle {
  readonly count: number;
  /** The longest idle ones first; at most 20. */
  readonly databases: readonly IdleRow[];
}

/** A database that no one uses, by its claim. */
export interface IdleRow {
  /** Namespace in the app cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly lastSession: string;
  /** Undefined if it is unknown. */
  readonly bytes: number | undefined;
  readonly perMonth: Money | undefined;
}

/** The row type of each collection. */
export interface RowOf {
  readonly problems: ProblemRow;
  readonly offers: OfferRow;
  readonly clusters: ClusterRow;
  readonly konnectors: KonnectorRow;
  readonly instances: InstanceRow;
  readonly members: MemberRow;
  readonly grants: GrantRow;
  readonly audit: AuditRow;
  readonly cost: CostRow;
}

/** All rows of a collection that the viewer may see. */
export interface Rows<C extends Collection = Collection> {
  readonly collection: C;
  readonly rows: readonly RowOf[C][];
}

/** Rows that came or changed, and ids of rows that went. */
export interface Change<C extends Collection = Collection> {
  readonly collection: C;
  readonly upserts: readonly RowOf[C][];
  readonly removed: readonly string[];
}

/** Names of the actions. */
export const actionNames = ["revoke-grant", "remove-member"] as const;
export type ActionName = (typeof actionNames)[number];

/** An action that the viewer may do to the object behind one row, in words for a confirmation. */
export interface OfferedAction {
  readonly name: ActionName;
  /** Label of the button, such as `Revoke`. */
  readonly label: string;
  /** Names the action and its object. */
  readonly title: string;
  readonly consequences: readonly string[];
  /** Sealed for this session, action and object as it is now. It holds for some minutes. */
  readonly token: string;
}

/** Actions of one row; none where the viewer lacks the right. */
export interface OfferedActions {
  readonly actions: readonly OfferedAction[];
}

/** The confirmation of an offered action. */
export interface ActionRequest {
  /** Id of the row. */
  readonly row: string;
  readonly token: string;
}

/** Says what was done. */
export interface ActionDone {
  readonly message: string;
}

/** An error in words. */
export interface ConsoleError {
  readonly error: string;
  readonly advice: string;
}
