/** Requests and answers of a composition function, as plain types without protobuf. */

/** Any JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** A composed resource that exists. */
export interface ObservedResource {
  readonly resource: Json;
  readonly connection: Readonly<Record<string, Uint8Array>>;
}

/** Crossplane's request. */
export interface ComposeRequest {
  /** The composite resource as it exists. */
  readonly composite: Json;
  /** Composed resources that exist, by the name this function gave them. */
  readonly observed: Readonly<Record<string, ObservedResource>>;
  /** The pipeline step's input. */
  readonly input: Json | undefined;
  /** The existing objects for each requirement of an earlier answer. A name that is missing was not required yet. */
  readonly required?: Readonly<Record<string, readonly Json[]>> | undefined;
  /** When it is asked, in milliseconds since the epoch. */
  readonly now?: number | undefined;
}

/** A composed resource that is wanted. Leave out `metadata.name`: Crossplane names it. */
export interface DesiredResource {
  readonly resource: Json;
  /** True when the composite may count it as ready; Crossplane derives nothing itself. */
  readonly ready: boolean;
}

/** Something for the event log of the composite and its claim. */
export interface ComposeResult {
  /** `fatal` stops the pipeline: nothing is changed. */
  readonly severity: "fatal" | "warning" | "normal";
  /** Reason of the event, one word in upper camel case. Default: Crossplane's `ComposeResources`. */
  readonly reason?: string | undefined;
  readonly message: string;
}

/** A condition of the composite and its claim. */
export interface ComposeCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message?: string | undefined;
}

/** Objects of one kind in the whole cluster that have all these labels. */
export interface RequiredResources {
  readonly apiVersion: string;
  readonly kind: string;
  /** At least one: without any, Crossplane would hand over all objects of the kind. */
  readonly matchLabels: Readonly<Record<string, string>>;
}

/** The function's answer. */
export interface ComposeResponse {
  readonly resources: Readonly<Record<string, DesiredResource>>;
  /**
   * Objects that the function has to see first, by a name for each. Crossplane drops this answer and asks again with them, until the
   * same is required as before, at most five times; so the last answer has to require it, too. A fatal result ends that.
   */
  readonly required?: Readonly<Record<string, RequiredResources>> | undefined;
  /** False: the composite is not ready, whatever is composed. Without it, it is when all of `resources` are, also when there are none. */
  readonly isReady?: false | undefined;
  /** `status` of the composite; copied to the claim. */
  readonly compositeStatus?: Json | undefined;
  /** Connection details of the composite, filtered by its definition. */
  readonly connection?: Readonly<Record<string, Uint8Array>> | undefined;
  readonly results?: readonly ComposeResult[] | undefined;
  readonly conditions?: readonly ComposeCondition[] | undefined;
}

/** Decides; pure, so that it can be tested and called again at any time. */
export type Compose = (request: ComposeRequest) => ComposeResponse;
