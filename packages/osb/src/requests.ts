/** Defines the requests to a broker. Callers choose the identifiers, so repeating a request after a crash is safe. */
import type { BindResource, OriginatingIdentity } from "./types.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Identity that caused the call. Default: none is sent. */
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

/** Instance to provision. */
export interface ProvisionRequest extends PlanRef {
  readonly instanceId: string;
  /** Deprecated by the specification in favour of `context`, and still required by it. Default: not sent, for brokers that know neither. */
  readonly organizationGuid?: string | undefined;
  readonly spaceGuid?: string | undefined;
  readonly parameters?: JsonObject | undefined;
  readonly context?: JsonObject | undefined;
  /** Default true. */
  readonly acceptsIncomplete?: boolean | undefined;
  /** The catalog's, to be refused with `MaintenanceInfoConflict` when it changed. Brokers before 2.15 are not told. */
  readonly maintenanceVersion?: string | undefined;
}

/** Change of an instance. */
export interface UpdateRequest extends PlanRef {
  readonly instanceId: string;
  readonly parameters?: JsonObject | undefined;
  readonly context?: JsonObject | undefined;
  /** Default true. */
  readonly acceptsIncomplete?: boolean | undefined;
  /** Version, as in `ProvisionRequest`. */
  readonly maintenanceVersion?: string | undefined;
  /** Previous state of the instance. */
  readonly previous?:
    | { readonly planId?: string | undefined; readonly maintenanceVersion?: string | undefined }
    | undefined;
}

/** Object to delete. */
export interface DeleteRequest extends PlanRef {
  readonly instanceId: string;
  /** Default true. Brokers before 2.14 do nothing with bindings but at once and are not told. */
  readonly acceptsIncomplete?: boolean | undefined;
}

/** Binding to create. */
export interface BindRequest extends DeleteRequest {
  readonly bindingId: string;
  readonly parameters?: JsonObject | undefined;
  readonly context?: JsonObject | undefined;
  readonly bindResource?: BindResource | undefined;
  /** The binding that this one follows, for plans with `bindingRotatable`. Throws `NotSent` at brokers before 2.17. */
  readonly predecessorBindingId?: string | undefined;
}

/** Operation to poll. */
export interface PollRequest {
  readonly serviceId?: string | undefined;
  readonly planId?: string | undefined;
  readonly instanceId: string;
  readonly bindingId?: string | undefined;
  readonly operation?: string | undefined;
}
