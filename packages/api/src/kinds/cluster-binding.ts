/** ClusterBinding: one app cluster, seen from the provider. */
import type { Condition, KubeObject } from "@klutch/kube-core";
import {
  anyObject,
  type CustomResourceDefinition,
  customResourceDefinition,
  integer,
  list,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";
import {
  type KonnectorUpdates,
  mostUpdateWords,
  releaseVersionPattern,
  updateLines,
} from "../konnector-updates.ts";
import { bindGroup, boundByAnnotation, clusterNameAnnotation } from "../names.ts";
import {
  ageColumn,
  type AnnouncedApi,
  announcedApis,
  bindCategories,
  conditions,
  type GroupResource,
  type LocalSecretKeyRef,
  localSecretKeyRef,
  type ObjectLimit,
  readyColumn,
  resourceLimit,
} from "./common.ts";

export interface ClusterBindingSpec {
  readonly kubeconfigSecretRef: LocalSecretKeyRef;
  readonly providerPrettyName: string;
  readonly serviceProviderSpec?: Readonly<Record<string, unknown>> | undefined;
}

/** One small object that goes up and comes down (designs/0031). */
export interface Canary {
  /** Number of the present probe. Written by the konnector. */
  readonly sent?: number | undefined;
  /** The number that the backend saw last. Absent where no backend answers. */
  readonly answered?: number | undefined;
}

export interface ClusterBindingStatus {
  /** RFC 3339. */
  readonly lastHeartbeatTime?: string | undefined;
  /** Go duration such as `5m0s`. */
  readonly heartbeatInterval?: string | undefined;
  readonly konnectorVersion?: string | undefined;
  /** Public key with which the agent can come back after its credential has expired. */
  readonly renewalKey?: string | undefined;
  readonly canary?: Canary | undefined;
  /** Absent where the konnector does not follow. */
  readonly konnectorUpdates?: KonnectorUpdates | undefined;
  /** Number of APIs that the app cluster has bound. */
  readonly boundAPIs?: number | undefined;
  /** Kinds whose number is limited for the app cluster. */
  readonly limits?: readonly (GroupResource & ObjectLimit)[] | undefined;
  /** Whom people of the app cluster ask for more. */
  readonly contact?: string | undefined;
  readonly newAPIs?: readonly AnnouncedApi[] | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

/** The only one of its cluster namespace, called `cluster`. */
export interface ClusterBinding extends KubeObject {
  readonly spec: ClusterBindingSpec;
  readonly status?: ClusterBindingStatus | undefined;
}

const spec: Schema<ClusterBindingSpec> = object(
  {
    kubeconfigSecretRef: localSecretKeyRef,
    providerPrettyName: string({
      minLength: 1,
      description: "What the provider calls itself; shown to people of the app cluster.",
    }),
  },
  {
    serviceProviderSpec: anyObject({
      description:
        "Further facts for the konnector: `renewal.url` is where it gets a new credential after its own has expired.",
    }),
  },
  { description: "How the app cluster's konnector reaches this provider. Written by the backend." },
);

const probeNumber = (description: string): Schema<number> =>
  integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

const canary: Schema<Canary> = object(
  {},
  {
    sent: probeNumber("Number of the present probe, any one. Written by the konnector."),
    answered: probeNumber(
      "The number that the backend saw last. Written by the backend; absent where none answers.",
    ),
  },
  { description: "A probe that takes the way of claims, up and down, each minute." },
);

const konnectorUpdates: Schema<KonnectorUpdates> = object(
  {
    line: oneOf(updateLines, {
      description:
        "patch follows to versions of the same minor version, minor to those of the same major version.",
    }),
    floor: string({ pattern: releaseVersionPattern, description: "The lowest version that is allowed." }),
  },
  {
    problem: string({ maxLength: mostUpdateWords, description: "Why the wanted version is not run." }),
  },
  {
    description:
      "Updates of the konnector that the app cluster's operator allows. Written by the konnector; absent where none are allowed.",
  },
);

const status: Schema<ClusterBindingStatus> = object(
  {},
  {
    lastHeartbeatTime: string({
      format: "date-time",
      description: "When the konnector last said that it is alive.",
    }),
    heartbeatInterval: string({
      description:
        "The longest time between two heartbeats that the konnector promises, as a Go duration such as 5m0s.",
    }),
    konnectorVersion: string({ description: "Version of the konnector." }),
    renewalKey: string({
      description:
        "Public key of the app cluster, with which the konnector can get a new credential after its own has expired.",
    }),
    canary,
    konnectorUpdates,
    boundAPIs: integer({ description: "How many APIs the app cluster has bound. Written by the backend." }),
    limits: list(resourceLimit, {
      description: "Kinds whose number is limited for the app cluster. Written by the backend.",
    }),
    contact: string({ description: "Whom people of the app cluster ask for more. Written by the backend." }),
    newAPIs: announcedApis,
    conditions,
  },
  {
    description: "Whether the konnector is alive. Written by the konnector; some conditions by the backend.",
  },
);

/** Path of an annotation, for a column. */
const annotationPath = (name: string): string =>
  `.metadata.annotations.${name.replaceAll(".", String.raw`\.`)}`;

export const clusterBindingCrd: CustomResourceDefinition = customResourceDefinition({
  group: bindGroup,
  version: "v1alpha1",
  kind: "ClusterBinding",
  plural: "clusterbindings",
  scope: "Namespaced",
  categories: bindCategories,
  description: "An app cluster that is bound to this provider.",
  fields: { spec, status },
  required: ["spec"],
  rules: [{ rule: 'self.metadata.name == "cluster"', message: "the name must be cluster" }],
  columns: [
    { name: "Cluster", type: "string", jsonPath: annotationPath(clusterNameAnnotation) },
    { name: "Who", type: "string", jsonPath: annotationPath(boundByAnnotation) },
    { name: "APIs", type: "integer", jsonPath: ".status.boundAPIs" },
    { name: "Konnector Version", type: "string", jsonPath: ".status.konnectorVersion" },
    { name: "Last Heartbeat", type: "date", jsonPath: ".status.lastHeartbeatTime" },
    readyColumn,
    ageColumn,
  ],
});
