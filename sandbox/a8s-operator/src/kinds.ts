/** The kinds that the operator serves, as far as a8s compositions write and read them. */
import type { KubeObject, ResourceType, StandardCondition } from "@klutch/kube-core";
import {
  anyObject,
  boolean,
  type CustomResourceDefinition,
  customResourceDefinition,
  integer,
  list,
  map,
  integerOrString,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";

const version = "v1beta3";
const instanceGroup = "postgresql.anynines.com";
const backupGroup = "backups.anynines.com";

/** What the operator says of each object. */
interface Observed {
  readonly conditions?: readonly StandardCondition[] | undefined;
  /** Generation that all of the status is about. */
  readonly observedGeneration?: number | undefined;
}

/** A database server. */
export interface Postgresql extends KubeObject {
  readonly spec: {
    readonly version: number;
    readonly volumeSize: string;
    readonly replicas: number;
    readonly resources?: Readonly<Record<string, unknown>> | undefined;
    readonly expose?: "Internal" | "LoadBalancer" | undefined;
    readonly parameters?: Readonly<Record<string, number | string>> | undefined;
  };
  readonly status?:
    | (Observed & {
        readonly clusterStatus?: string | undefined;
        readonly readyReplicas?: number | undefined;
      })
    | undefined;
}

/** A login for one of them. */
export interface ServiceBinding extends KubeObject {
  readonly spec: {
    readonly instance: {
      readonly apiVersion: string;
      readonly kind: string;
      readonly name: string;
      readonly namespace: string;
    };
  };
  readonly status?:
    | (Observed & {
        readonly implemented?: boolean | undefined;
        readonly secret?: { readonly name: string; readonly namespace: string } | undefined;
      })
    | undefined;
}

/** Which instance a Backup or a Restore is about; it is in the same namespace. */
export interface InstanceReference {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}

/** A dump of a database. */
export interface Backup extends KubeObject {
  readonly spec: { readonly serviceInstance: InstanceReference };
  readonly status?: (Observed & { readonly backupID?: string | undefined }) | undefined;
}

/** Puts a dump in the place of what a database holds. */
export interface Restore extends KubeObject {
  readonly spec: { readonly serviceInstance: InstanceReference; readonly backupName: string };
  readonly status?: (Observed & { readonly restoreID?: string | undefined }) | undefined;
}

const typeOf = (group: string, plural: string, kind: string): ResourceType => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
});

export const postgresqls: ResourceType = typeOf(instanceGroup, "postgresqls", "Postgresql");
export const serviceBindings: ResourceType = typeOf(
  "servicebindings.anynines.com",
  "servicebindings",
  "ServiceBinding",
);
export const backups: ResourceType = typeOf(backupGroup, "backups", "Backup");
export const restores: ResourceType = typeOf(backupGroup, "restores", "Restore");

const postgresqlSpec: Schema<Postgresql["spec"]> = object(
  {
    version: integer({ minimum: 1, description: "Major version of PostgreSQL that is asked for." }),
    volumeSize: string({ description: "Size of the disk of each server." }),
    replicas: integer({
      minimum: 1,
      maximum: 8,
      default: 1,
      description: "How many servers: one that writes, and standbys that follow it.",
    }),
  },
  {
    resources: anyObject({ description: "CPU and memory of each server." }),
    expose: oneOf(["Internal", "LoadBalancer"], { description: "From where the database is reached." }),
    parameters: map(integerOrString(), { description: "Settings of the server." }),
  },
  { description: "The server that is wanted." },
);

const name = (of: string): Schema<string> => string({ minLength: 1, description: `Name of the ${of}.` });

const serviceInstance: Schema<InstanceReference> = object(
  {
    apiGroup: string({ description: "Group of the instance's kind." }),
    kind: string({ description: "Kind of the instance." }),
    name: name("instance"),
  },
  {},
  { description: "The instance, in this namespace." },
);

const conditions: Schema<readonly StandardCondition[]> = list(
  object(
    {
      type: string({ description: "The aspect." }),
      status: string({ description: "True, False or Unknown." }),
      reason: string({ description: "Why, in one word." }),
      lastTransitionTime: string({ format: "date-time", description: "When it changed last." }),
    },
    {
      message: string({ description: "Why, for people." }),
      observedGeneration: integer({ description: "Of the object that it is about." }),
    },
  ),
  { listType: "map", mapKeys: ["type"], description: "What is known about the object." },
);
const observedGeneration = integer({ description: "The generation that this is about." });
const observed = { conditions, observedGeneration };
const unchanging = [{ rule: "self == oldSelf", message: "spec cannot be changed; make another object" }];
const statusText = "What the operator found.";
const ready = {
  name: "Ready",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
} as const;

/** The CRD of a type of ours. */
function crdOf(
  type: ResourceType,
  options: Pick<Parameters<typeof customResourceDefinition>[0], "columns" | "fields" | "description">,
): CustomResourceDefinition {
  return customResourceDefinition({ ...type, ...options, scope: "Namespaced", required: ["spec"] });
}

/** What the operator installs. */
export const a8sCrds: readonly CustomResourceDefinition[] = [
  crdOf(postgresqls, {
    description: "A PostgreSQL server.",
    columns: [
      { name: "Status", type: "string", jsonPath: ".status.clusterStatus" },
      { name: "Servers", type: "integer", jsonPath: ".status.readyReplicas" },
    ],
    fields: {
      spec: postgresqlSpec,
      status: object(
        {},
        {
          clusterStatus: string({ description: "Running, or Progressing while it does not." }),
          readyReplicas: integer({
            description: "How many servers are of use: the one that writes, and standbys that follow it now.",
          }),
          ...observed,
        },
        { description: statusText },
      ),
    },
  }),
  crdOf(serviceBindings, {
    description: "A login for a PostgreSQL server.",
    columns: [{ name: "Implemented", type: "boolean", jsonPath: ".status.implemented" }],
    fields: {
      spec: object(
        {
          instance: object(
            {
              apiVersion: string({ description: "That of the instance." }),
              kind: string({ description: "Kind of the instance." }),
              name: name("instance"),
              namespace: string({ description: "Namespace of the instance, which must be this one." }),
            },
            {},
            { description: "The instance." },
          ),
        },
        {},
        { description: "What is bound.", rules: unchanging },
      ),
      status: object(
        {},
        {
          implemented: boolean({ description: "Whether the login and its Secret are there." }),
          secret: object(
            { name: name("Secret"), namespace: string({ description: "Its namespace." }) },
            {},
            { description: "The Secret with the credentials." },
          ),
          ...observed,
        },
        { description: statusText },
      ),
    },
  }),
  crdOf(backups, {
    description: "A backup of a PostgreSQL server's database.",
    columns: [ready],
    fields: {
      spec: object({ serviceInstance }, {}, { description: "What is backed up.", rules: unchanging }),
      status: object(
        {},
        { backupID: string({ description: "Id of the dump." }), ...observed },
        { description: statusText },
      ),
    },
  }),
  crdOf(restores, {
    description: "Puts a backup in the place of a database's data, once.",
    columns: [ready],
    fields: {
      spec: object(
        { serviceInstance, backupName: name("Backup, in this namespace") },
        {},
        { description: "What is restored.", rules: unchanging },
      ),
      status: object(
        {},
        { restoreID: string({ description: "Id of the restore." }), ...observed },
        { description: statusText },
      ),
    },
  }),
];
