/** ServiceInstance: a service instance at a broker. See docs/reference/provider.md. */
import { anyValue, boolean, integer, map, object, type Schema, string } from "@klutch/schema";
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import { type CrdPair, managedCrds, type ManagedSpec } from "./managed-common.ts";

/** Identity of the user, for the broker's records (OSB "Originating Identity"). */
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

/** Size and last session, as the broker told them (`measurement.ts`). */
export interface InstanceMeasurement {
  readonly at: string;
  readonly bytes?: number | undefined;
  readonly lastSession?: string | undefined;
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
  readonly measured?: InstanceMeasurement | undefined;
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
    platform: string({ description: "Where the identity comes from, such as kubernetes." }),
    value: string({ description: "The identity, a JSON object or a user's name." }),
  },
  {
    description: "Who asks, for the broker's records, when both fields are there. Default: the claim.",
  },
);

const forProvider: Schema<ServiceInstanceParameters> = object(
  {
    acceptsIncomplete: boolean({
      default: true,
      description: "Whether the broker may answer before it is done.",
    }),
    serviceName: string({
      description:
        "Name of the offering in the broker's catalog. It cannot change while the instance exists.",
    }),
    planName: string({ description: "Name of the plan in the broker's catalog." }),
    organizationGuid: string({
      description:
        "Sent to the broker as organization_guid, unless the ProviderConfig's context says otherwise.",
    }),
    spaceGuid: string({
      description: "Sent to the broker as space_guid, unless the ProviderConfig's context says otherwise.",
    }),
  },
  {
    parameters: map(anyValue(), { description: "Parameters of the instance, by the broker's names." }),
    context: map(string(), {
      description:
        "Context of the instance, sent to the broker with the fields added that the ProviderConfig's context names.",
    }),
    originatingIdentity,
  },
  { description: "What the broker is asked for." },
);

const measured: Schema<InstanceMeasurement> = object(
  { at: string({ description: "When the broker told it, in RFC 3339." }) },
  {
    bytes: integer({ format: "int64", description: "Size of the data in bytes. Absent: unknown." }),
    lastSession: string({
      description:
        "When the last session of a client ended, in RFC 3339; without any session, when the instance was made. Absent: unknown.",
    }),
  },
  {
    description:
      "What the broker told of the instance last, renewed once a day at least. Absent if it tells nothing, as most brokers do.",
  },
);

const atProvider: Schema<ServiceInstanceObservation> = object(
  {},
  {
    state: string({
      description:
        "How far the instance is: deploying, provisioned, failed, lost, unknown, deleting or deleted.",
    }),
    provisionedAt: string({ description: "When the instance was ready for the first time, in RFC 3339." }),
    deletedAt: string({ description: "Not written." }),
    createdAt: string({ description: "When the provider first recorded a state, in RFC 3339." }),
    updatedAt: string({ description: "When the state changed last, in RFC 3339." }),
    planId: string({ description: "Id of the instance's plan in the broker's catalog." }),
    serviceId: string({ description: "Id of the instance's offering in the broker's catalog." }),
    instanceId: string({ description: "Id of the instance at its broker." }),
    parameters: map(anyValue(), { description: "Parameters that the broker has or was sent." }),
    measured,
  },
  { description: "The instance at its broker." },
);

export const serviceInstanceCrds: CrdPair = managedCrds({
  kind: "ServiceInstance",
  plural: "serviceinstances",
  description: "A service instance at a service broker.",
  forProvider,
  status: {
    atProvider,
    pendingOperation: string({
      description: "What the broker calls its operation on the instance, while one runs.",
    }),
  },
});
