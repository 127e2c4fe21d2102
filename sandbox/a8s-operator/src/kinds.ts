/** The kinds that the operator serves, as far as a8s compositions write and read them. */
import type { KubeObject, ResourceType, StandardCondition } from "@klutch/kube-core";
import {
  anyObject,
  boolean,
  type CrdOptions,
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

/** An object of which the operator reports conditions. */
export interface Reported extends KubeObject {
  readonly status?: { readonly conditions?: readonly StandardCondition[] | undefined } | undefined;
}

/** A database server, as far as the operator reads it. */
export interface Postgresql extends Reported {
  readonly spec: {
    readonly replicas: number;
    readonly parameters?: Readonly<Record<string, number | string>> | undefined;
  };
}

/** A login for a database server. */
export interface ServiceBinding extends Reported {
  readonly spec: { readonly instance: Record<"apiVersion" | "kind" | "name" | "namespace", string> };
}

/** The instance of a Backup or a Restore, in the same namespace. */
export type InstanceReference = Readonly<Record<"apiGroup" | "kind" | "name", string>>;

/** A dump of a database. */
export interface Backup extends Reported {
  readonly spec: { readonly serviceInstance: InstanceReference };
}

/** Replaces the data of a database by a dump. */
export interface Restore extends Reported {
  readonly spec: { readonly serviceInstance: InstanceReference; readonly backupName: string };
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

const postgresqlSpec = object(
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

const serviceInstance = object(
  {
    apiGroup: string({ description: "Group of the instance's kind." }),
    kind: string({ description: "Kind of the instance." }),
    name: name("instance"),
  },
  {},
  { description: "The instance, in this namespace." },
);

const conditions = list(
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

type AnySchema = Pick<Schema<unknown>, "json">;

interface Kind extends Pick<CrdOptions, "description" | "columns"> {
  readonly spec: AnySchema;
  /** Fields of the status beside the common ones. */
  readonly status: Readonly<Record<string, AnySchema>>;
}

function crdOf(type: ResourceType, { spec, status, ...kind }: Kind): CustomResourceDefinition {
  const fields = { spec, status: object({}, { ...status, ...observed }, { description: statusText }) };
  return customResourceDefinition({ ...type, ...kind, fields, scope: "Namespaced", required: ["spec"] });
}

/** Returns a spec that cannot be changed. */
function fixed(description: string, fields: Readonly<Record<string, AnySchema>>): AnySchema {
  return object(fields, {}, { description, rules: unchanging });
}

/** The kinds that the operator installs. */
export const a8sCrds: readonly CustomResourceDefinition[] = [
  crdOf(postgresqls, {
    description: "A PostgreSQL server.",
    columns: [
      { name: "Status", type: "string", jsonPath: ".status.clusterStatus" },
      { name: "Servers", type: "integer", jsonPath: ".status.readyReplicas" },
    ],
    spec: postgresqlSpec,
    status: {
      clusterStatus: string({ description: "Running, or Progressing while it does not." }),
      readyReplicas: integer({
        description: "How many servers are of use: the one that writes, and standbys that follow it now.",
      }),
    },
  }),
  crdOf(serviceBindings, {
    description: "A login for a PostgreSQL server.",
    columns: [{ name: "Implemented", type: "boolean", jsonPath: ".status.implemented" }],
    spec: fixed("What is bound.", {
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
    }),
    status: {
      implemented: boolean({ description: "Whether the login and its Secret are there." }),
      secret: object(
        { name: name("Secret"), namespace: string({ description: "Its namespace." }) },
        {},
        { description: "The Secret with the credentials." },
      ),
    },
  }),
  crdOf(backups, {
    description: "A backup of a PostgreSQL server's database.",
    columns: [ready],
    spec: fixed("What is backed up.", { serviceInstance }),
    status: { backupID: string({ description: "Id of the dump." }) },
  }),
  crdOf(restores, {
    description: "Puts a backup in the place of a database's data, once.",
    columns: [ready],
    spec: fixed("What is restored.", { serviceInstance, backupName: name("Backup, in this namespace") }),
    status: { restoreID: string({ description: "Id of the restore." }) },
  }),
];
