/** ServiceBinding of the provider: credentials for a service instance. See docs/reference/provider.md. */
import { boolean, integer, list, map, object, type Schema, string } from "@klutch/schema";
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import { type CrdPair, managedCrds, type ManagedSpec } from "./managed-common.ts";
import type { OriginatingIdentity } from "./service-instance.ts";

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
  /** A text that was not there before asks for new credentials. */
  readonly rotate?: string | undefined;
  readonly rotateGraceSeconds?: number | undefined;
}

/** Address of the service, without secrets. */
export interface ConnectionDetail {
  readonly hostURL?: string | undefined;
  readonly port?: string | undefined;
  readonly label?: string | undefined;
}

/** State of credential rotation. Times are RFC 3339. */
export interface BindingRotation {
  /** The text of `rotate` that the credentials in the Secret answer. */
  readonly request?: string | undefined;
  readonly rotatedAt?: string | undefined;
  /** Until when the credentials before work; absent when they do not any more. */
  readonly oldCredentialsUntil?: string | undefined;
  /** Newer credentials are asked for. */
  readonly pending?: boolean | undefined;
}

export interface ServiceBindingObservation {
  readonly state: string;
  readonly instanceId?: string | undefined;
  readonly planID?: string | undefined;
  readonly serviceID?: string | undefined;
  readonly serviceBindingID?: number | undefined;
  readonly connectionDetails?: readonly ConnectionDetail[] | undefined;
  readonly rotation?: BindingRotation | undefined;
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
    instanceName: string({
      description: "Name of the claim of the instance to bind, in the namespace of this binding's claim.",
    }),
    acceptsIncomplete: boolean({
      description: "Whether the broker may answer before it is done.",
    }),
  },
  {
    appGuid: string({ description: "The same as bindResource.appGuid, which goes first." }),
    bindResource: object(
      {},
      {
        appGuid: string({
          description:
            "Id of the application. Brokers that need one get the binding's own id when it is absent.",
        }),
        route: string({ description: "Address of the application, for route services." }),
      },
      { description: "What the binding is for, sent to the broker." },
    ),
    parameters: map(string(), {
      description: "Parameters of the binding, by the broker's names. A later change has no effect.",
    }),
    context: map(string(), { description: "Context of the binding, sent to the broker as it is." }),
    originatingIdentity: object(
      {},
      {
        platform: string({ description: "Where the identity comes from, such as kubernetes." }),
        value: string({ description: "The identity, a JSON object or a user's name." }),
      },
      { description: "Who asks, for the broker's records. Default: the claim." },
    ),
    credentials: map(string(), { description: "Not used." }),
    rotate: string({
      maxLength: 64,
      description:
        "Any text, such as a date. A change of it asks for new credentials; those before are unbound later.",
    }),
    rotateGraceSeconds: integer({
      minimum: 0,
      maximum: 604_800,
      description: "How long credentials work after they were replaced. Default 3600.",
    }),
  },
  { description: "Which instance is bound, and how." },
);

const atProvider: Schema<ServiceBindingObservation> = object(
  { state: string({ default: "Pending", description: "One of Pending, Created, Deleting, Deleted." }) },
  {
    instanceId: string({ description: "Id of the instance at its broker." }),
    planID: string({ description: "Id of the instance's plan." }),
    serviceID: string({ description: "Id of the instance's offering." }),
    serviceBindingID: integer({ description: "Not used any more." }),
    connectionDetails: list(
      object(
        {},
        {
          hostURL: string({ description: "Host name or address." }),
          port: string({ description: "Port, as text." }),
          label: string({ description: "Protocol of the port, such as SQL." }),
        },
      ),
      { description: "Where the service is reached, without secrets." },
    ),
    rotation: object(
      {},
      {
        request: string({
          description: "The text of spec.forProvider.rotate that the credentials in the Secret answer.",
        }),
        rotatedAt: string({ format: "date-time", description: "When they were rotated last." }),
        oldCredentialsUntil: string({
          format: "date-time",
          description: "Until when the credentials before work. Absent when they do not any more.",
        }),
        pending: boolean({ description: "Newer credentials are asked for." }),
      },
      { description: "Rotations of the credentials." },
    ),
  },
  { description: "The binding at its broker." },
);

export const managedServiceBindingCrds: CrdPair = managedCrds({
  kind: "ServiceBinding",
  plural: "servicebindings",
  description: "Credentials for a service instance at a service broker.",
  forProvider,
  status: {
    atProvider,
    pendingOperation: string({ description: "Not used: an annotation records the broker's operation." }),
  },
});
