/** The kinds that the operator serves, as far as a8s compositions write and read them. */
import type { KubeObject, ResourceType, StandardCondition } from "@klutch/kube-core";
import * as schema from "@klutch/schema";

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

function typeOf(group: string, plural: string, kind: string): ResourceType {
  return { group, version, plural, kind, namespaced: true };
}

export const postgresqls: ResourceType = typeOf(instanceGroup, "postgresqls", "Postgresql");
const bindingGroup = "servicebindings.anynines.com";
export const serviceBindings: ResourceType = typeOf(bindingGroup, "servicebindings", "ServiceBinding");
export const backups: ResourceType = typeOf(backupGroup, "backups", "Backup");
export const restores: ResourceType = typeOf(backupGroup, "restores", "Restore");

const postgresqlSpec = schema.object(
  {
    version: schema.integer({ minimum: 1, description: "Major version of PostgreSQL that is asked for." }),
    volumeSize: schema.string({ description: "Size of the disk of each server." }),
    replicas: schema.integer({
      minimum: 1,
      maximum: 8,
      default: 1,
      description: "How many servers: one that writes, and standbys that follow it.",
    }),
  },
  {
    resources: schema.anyObject({ description: "CPU and memory of each server." }),
    expose: schema.oneOf(["Internal", "LoadBalancer"], {
      description: "From where the database is reached.",
    }),
    parameters: schema.map(schema.integerOrString(), { description: "Settings of the server." }),
  },
  { description: "The server that is wanted." },
);

const name = (of: string): schema.Schema<string> =>
  schema.string({ minLength: 1, description: `Name of the ${of}.` });

const serviceInstance = schema.object(
  {
    apiGroup: schema.string({ description: "Group of the instance's kind." }),
    kind: schema.string({ description: "Kind of the instance." }),
    name: name("instance"),
  },
  {},
  { description: "The instance, in this namespace." },
);

const conditions = schema.list(
  schema.object(
    {
      type: schema.string({ description: "The aspect." }),
      status: schema.string({ description: "True, False or Unknown." }),
      reason: schema.string({ description: "Why, in one word." }),
      lastTransitionTime: schema.string({ format: "date-time", description: "When it changed last." }),
    },
    {
      message: schema.string({ description: "Why, for people." }),
      observedGeneration: schema.integer({ description: "Of the object that it is about." }),
    },
  ),
  { listType: "map", mapKeys: ["type"], description: "What is known about the object." },
);
const observedGeneration = schema.integer({ description: "The generation that this is about." });
const observed = { conditions, observedGeneration };
const unchanging = [{ rule: "self == oldSelf", message: "spec cannot be changed; make another object" }];
const statusText = "What the operator found.";
const jsonPath = '.status.conditions[?(@.type=="Ready")].status';
const ready = { name: "Ready", type: "string", jsonPath } as const;

type AnySchema = Pick<schema.Schema<unknown>, "json">;

interface Kind extends Pick<schema.CrdOptions, "description" | "columns"> {
  readonly spec: AnySchema;
  /** Fields of the status beside the common ones. */
  readonly status: Readonly<Record<string, AnySchema>>;
}

function crdOf(type: ResourceType, { spec, status, ...kind }: Kind): schema.CustomResourceDefinition {
  const fields = { spec, status: schema.object({}, { ...status, ...observed }, { description: statusText }) };
  const common = { fields, scope: "Namespaced", required: ["spec"] } as const;
  return schema.customResourceDefinition({ ...type, ...kind, ...common });
}

/** Returns a spec that cannot be changed. */
function fixed(description: string, fields: Readonly<Record<string, AnySchema>>): AnySchema {
  return schema.object(fields, {}, { description, rules: unchanging });
}

/** The kinds that the operator installs. */
export const a8sCrds: readonly schema.CustomResourceDefinition[] = [
  crdOf(postgresqls, {
    description: "A PostgreSQL server.",
    columns: [
      { name: "Status", type: "string", jsonPath: ".status.clusterStatus" },
      { name: "Servers", type: "integer", jsonPath: ".status.readyReplicas" },
    ],
    spec: postgresqlSpec,
    status: {
      clusterStatus: schema.string({ description: "Running, or Progressing while it does not." }),
      readyReplicas: schema.integer({
        description: "How many servers are of use: the one that writes, and standbys that follow it now.",
      }),
    },
  }),
  crdOf(serviceBindings, {
    description: "A login for a PostgreSQL server.",
    columns: [{ name: "Implemented", type: "boolean", jsonPath: ".status.implemented" }],
    spec: fixed("What is bound.", {
      instance: schema.object(
        {
          apiVersion: schema.string({ description: "That of the instance." }),
          kind: schema.string({ description: "Kind of the instance." }),
          name: name("instance"),
          namespace: schema.string({ description: "Namespace of the instance, which must be this one." }),
        },
        {},
        { description: "The instance." },
      ),
    }),
    status: {
      implemented: schema.boolean({ description: "Whether the login and its Secret are there." }),
      secret: schema.object(
        { name: name("Secret"), namespace: schema.string({ description: "Its namespace." }) },
        {},
        { description: "The Secret with the credentials." },
      ),
    },
  }),
  crdOf(backups, {
    description: "A backup of a PostgreSQL server's database.",
    columns: [ready],
    spec: fixed("What is backed up.", { serviceInstance }),
    status: { backupID: schema.string({ description: "Id of the dump." }) },
  }),
  crdOf(restores, {
    description: "Puts a backup in the place of a database's data, once.",
    columns: [ready],
    spec: fixed("What is restored.", { serviceInstance, backupName: name("Backup, in this namespace") }),
    status: { restoreID: schema.string({ description: "Id of the restore." }) },
  }),
];
