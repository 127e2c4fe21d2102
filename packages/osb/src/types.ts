/** Wire objects of the Open Service Broker API 2.17, as far as a platform needs them. */

export interface Plan {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly planUpdateable?: boolean | undefined;
  /** Seconds, a whole number from 1; what else a broker writes counts as nothing said. */
  readonly maximumPollingDuration?: number | undefined;
  /** Overrides the service's. */
  readonly bindable?: boolean | undefined;
  /** True if a binding can follow another one, see `BindRequest.predecessorBindingId`. */
  readonly bindingRotatable?: boolean | undefined;
  /** Version of `maintenance_info`. */
  readonly maintenanceVersion?: string | undefined;
}

export interface Service {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly bindable: boolean;
  readonly instancesRetrievable: boolean;
  readonly bindingsRetrievable: boolean;
  readonly planUpdateable: boolean;
  readonly plans: readonly Plan[];
}

export interface Catalog {
  readonly services: readonly Service[];
}

/** Answer to a create, update or delete. */
export type Outcome =
  | { readonly kind: "done" }
  /** `operation` is optional in the specification. */
  | {
      readonly kind: "accepted";
      readonly operation?: string | undefined;
      readonly retryAfterMs?: number | undefined;
    };

/** Answer to a bind. */
export type BindOutcome =
  | { readonly kind: "done"; readonly credentials: Readonly<Record<string, unknown>> }
  | {
      readonly kind: "accepted";
      readonly operation?: string | undefined;
      readonly retryAfterMs?: number | undefined;
    };

export interface LastOperation {
  readonly state: "in progress" | "succeeded" | "failed";
  readonly description: string;
  readonly retryAfterMs?: number | undefined;
  /** After a failed update: whether the instance is still usable. */
  readonly instanceUsable?: boolean | undefined;
  /** After a failed update: whether the same one may succeed later. */
  readonly updateRepeatable?: boolean | undefined;
}

export interface FetchedInstance {
  readonly serviceId?: string | undefined;
  readonly planId?: string | undefined;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
  /** `attributes` of the metadata (OSB 2.16 "Service Instance Metadata"), with values as the broker wrote them: nothing of them is checked. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
}

export interface FetchedBinding {
  readonly credentials?: Readonly<Record<string, unknown>> | undefined;
}

/** Identity of the user (header `X-Broker-API-Originating-Identity`). */
export interface OriginatingIdentity {
  /** Visible ASCII without spaces, such as `kubernetes`; the same as `context.platform`. */
  readonly platform: string;
  /** The specification wants an object. */
  readonly value: unknown;
}

/** Consumer of a binding. Further fields that a platform agreed on are sent unchanged. */
export interface BindResource {
  /** The application, or whatever the platform maps to one; brokers that answer `RequiresApp` need it. */
  readonly appGuid?: string | undefined;
  /** Address of the application, for route services. */
  readonly route?: string | undefined;
  readonly other?: Readonly<Record<string, unknown>> | undefined;
}
