/** What is asked of a broker. Callers choose the identifiers, so repeating a request after a crash is safe. */
import type { BindResource, OriginatingIdentity } from "./types.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Who caused the call. Default: nobody is named. */
  readonly identity?: OriginatingIdentity | undefined;
  /** `X-Broker-API-Request-Identity`, visible ASCII. Default: a new UUID for each call. Brokers before 2.15 are not told. */
  readonly requestIdentity?: string | undefined;
}

/** Options of fetching. */
export interface FetchOptions extends CallOptions {
  /** Helps some brokers to find the thing; brokers before 2.16 are not told. */
  readonly plan?: PlanRef | undefined;
}

/** Names the plan of an instance. */
export interface PlanRef {
  readonly serviceId: string;
  readonly planId: string;
}

/** What to provision. */
export interface ProvisionRequest extends PlanRef {
  readonly instanceId: string;
  readonly organizationGuid: string;
  readonly spaceGuid: string;
  readonly parameters?: JsonObject | undefined;
  readonly context?: JsonObject | undefined;
  /** Default true. */
  readonly acceptsIncomplete?: boolean | undefined;
  /** The catalog's, to be refused with `MaintenanceInfoConflict` when it changed. Brokers before 2.15 are not told. */
  readonly maintenanceVersion?: string | undefined;
}

/** What to change. */
export interface UpdateRequest extends PlanRef {
  readonly instanceId: string;
  readonly parameters?: JsonObject | undefined;
  readonly context?: JsonObject | undefined;
  /** Default true. */
  readonly acceptsIncomplete?: boolean | undefined;
  /** As for `ProvisionRequest`. */
  readonly maintenanceVersion?: string | undefined;
  /** How the instance was before. */
  readonly previous?:
    | { readonly planId?: string | undefined; readonly maintenanceVersion?: string | undefined }
    | undefined;
}

/** What to delete. */
export interface DeleteRequest extends PlanRef {
  readonly instanceId: string;
  /** Default true. Brokers before 2.14 do nothing with bindings but at once and are not told. */
  readonly acceptsIncomplete?: boolean | undefined;
}

/** What to bind. */
export interface BindRequest extends DeleteRequest {
  readonly bindingId: string;
  readonly parameters?: JsonObject | undefined;
  readonly context?: JsonObject | undefined;
  readonly bindResource?: BindResource | undefined;
  /** The binding that this one follows, for plans with `bindingRotatable`. Throws `NotSent` at brokers before 2.17. */
  readonly predecessorBindingId?: string | undefined;
}

/** Which operation to ask for. */
export interface PollRequest {
  readonly serviceId?: string | undefined;
  readonly planId?: string | undefined;
  readonly instanceId: string;
  readonly bindingId?: string | undefined;
  readonly operation?: string | undefined;
}
