/** ServiceInstance: a service instance at a broker. See docs/reference/provider.md. */
import {
  anyValue,
  boolean,
  type CustomResourceDefinition,
  map,
  object,
  type Schema,
  string,
} from "@klutch/schema";
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import { managedConditions, managedCrd, type ManagedSpec, managedSpecFields } from "./managed-common.ts";

/** Who asks, for the broker's records (OSB "Originating Identity"). */
export interface OriginatingIdentity {
  readonly platform?: string | undefined;
  readonly value?: string | undefined;
}

export interface ServiceInstanceParameters {
  readonly acceptsIncomplete: boolean;
  readonly serviceName: string;
  readonly planName: string;
  readonly organizationGuid: string;
  readonly spaceGuid: string;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
  readonly context?: Readonly<Record<string, string>> | undefined;
  readonly originatingIdentity?: OriginatingIdentity | undefined;
}

export interface ServiceInstanceObservation {
  readonly state?: string | undefined;
  readonly provisionedAt?: string | undefined;
  readonly deletedAt?: string | undefined;
  readonly createdAt?: string | undefined;
  readonly updatedAt?: string | undefined;
  readonly planId?: string | undefined;
  readonly serviceId?: string | undefined;
  readonly instanceId?: string | undefined;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
}

export interface ServiceInstance extends KubeObject {
  readonly spec: ManagedSpec & { readonly forProvider: ServiceInstanceParameters };
  readonly status?:
    | {
        readonly atProvider?: ServiceInstanceObservation | undefined;
        /** Key of the broker's operation that runs. */
        readonly pendingOperation?: string | undefined;
        readonly conditions?: readonly StandardCondition[] | undefined;
      }
    | undefined;
}

const originatingIdentity: Schema<OriginatingIdentity> = object(
  {},
  {
    platform: string({ description: "Where the identity comes from." }),
    value: string({ description: "The identity, JSON or plain text." }),
  },
  { description: "Who asks, for the broker's records." },
);

const forProvider: Schema<ServiceInstanceParameters> = object(
  {
    acceptsIncomplete: boolean({ default: true, description: "The broker may answer before it is done." }),
    serviceName: string({ description: "Name of the offering in the catalog." }),
    planName: string({ description: "Name of the plan in the catalog." }),
    organizationGuid: string({
      description: "Organisation the instance is made in, where the broker wants one.",
    }),
    spaceGuid: string({ description: "Space the instance is made in, where the broker wants one." }),
  },
  {
    parameters: map(anyValue(), { description: "Parameters by the broker's names." }),
    context: map(string(), { description: "Context of the instance, for the broker." }),
    originatingIdentity,
  },
);

const atProvider: Schema<ServiceInstanceObservation> = object(
  {},
  {
    state: string({
      description: "How far the instance is, such as deploying, provisioned, failed, lost, deleting.",
    }),
    provisionedAt: string({ description: "RFC 3339." }),
    deletedAt: string({ description: "RFC 3339." }),
    createdAt: string({ description: "RFC 3339." }),
    updatedAt: string({ description: "RFC 3339." }),
    planId: string({ description: "Id of the plan in the catalog." }),
    serviceId: string({ description: "Id of the offering in the catalog." }),
    instanceId: string({ description: "Id of the instance at its broker." }),
    parameters: map(anyValue(), { description: "Parameters that the broker has or was sent." }),
  },
);

export const serviceInstanceCrd: CustomResourceDefinition = managedCrd({
  kind: "ServiceInstance",
  plural: "serviceinstances",
  description: "A service instance at a service broker.",
  fields: {
    spec: object({ forProvider }, managedSpecFields),
    status: object(
      {},
      {
        atProvider,
        pendingOperation: string({ description: "Key of the broker's operation that runs." }),
        conditions: managedConditions,
      },
    ),
  },
});
