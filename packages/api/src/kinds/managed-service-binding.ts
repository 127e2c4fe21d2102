/** ServiceBinding of the provider: credentials for a service instance. Source: reference/provider.md §1.3. */
import {
  boolean,
  type CustomResourceDefinition,
  integer,
  list,
  map,
  object,
  type Schema,
  string,
} from "@klutch/schema";
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import { managedConditions, managedCrd, type ManagedSpec, managedSpecFields } from "./managed-common.ts";
import { type OriginatingIdentity, originatingIdentity } from "./service-instance.ts";

export interface ServiceBindingParameters {
  /** Name of the claim of the instance, in the namespace of this binding's claim. */
  readonly instanceName: string;
  readonly acceptsIncomplete: boolean;
  readonly appGuid?: string | undefined;
  readonly bindResource?:
    | { readonly appGuid?: string | undefined; readonly route?: string | undefined }
    | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly context?: Readonly<Record<string, string>> | undefined;
  readonly originatingIdentity?: OriginatingIdentity | undefined;
  readonly credentials?: Readonly<Record<string, string>> | undefined;
}

/** Where the service is reached, without secrets. */
export interface ConnectionDetail {
  readonly hostURL?: string | undefined;
  readonly port?: string | undefined;
  readonly label?: string | undefined;
}

export interface ServiceBindingObservation {
  readonly state: string;
  readonly instanceId?: string | undefined;
  readonly planID?: string | undefined;
  readonly serviceID?: string | undefined;
  readonly serviceBindingID?: number | undefined;
  readonly connectionDetails?: readonly ConnectionDetail[] | undefined;
}

export interface ManagedServiceBinding extends KubeObject {
  readonly spec: ManagedSpec & { readonly forProvider: ServiceBindingParameters };
  readonly status?:
    | {
        readonly atProvider?: ServiceBindingObservation | undefined;
        /** Key of the broker's operation that runs. */
        readonly pendingOperation?: string | undefined;
        readonly conditions?: readonly StandardCondition[] | undefined;
      }
    | undefined;
}

const forProvider: Schema<ServiceBindingParameters> = object(
  {
    instanceName: string({ description: "Name of the claim of the instance to bind." }),
    acceptsIncomplete: boolean({ description: "The broker may answer before it is done." }),
  },
  {
    appGuid: string(),
    bindResource: object({}, { appGuid: string(), route: string() }),
    parameters: map(string()),
    context: map(string()),
    originatingIdentity,
    credentials: map(string()),
  },
);

const atProvider: Schema<ServiceBindingObservation> = object(
  { state: string({ default: "Pending" }) },
  {
    instanceId: string(),
    planID: string(),
    serviceID: string(),
    serviceBindingID: integer({ description: "Not used any more." }),
    connectionDetails: list(object({}, { hostURL: string(), port: string(), label: string() })),
  },
);

export const managedServiceBindingCrd: CustomResourceDefinition = managedCrd({
  kind: "ServiceBinding",
  plural: "servicebindings",
  description: "Credentials for a service instance at a service broker.",
  fields: {
    spec: object({ forProvider }, managedSpecFields),
    status: object({}, { atProvider, pendingOperation: string(), conditions: managedConditions }),
  },
});
