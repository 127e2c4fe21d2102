/** What the broker offers (OSB 2.17 "Catalog Management"). */
import { createHash } from "node:crypto";

/** What makes the instances of a service; the word of a binding claim's `serviceInstanceType`. */
export type ServiceType = "postgresql" | "mariadb" | "keyvalue";

/** A plan of the offering. */
export interface Plan {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly free: boolean;
  readonly serviceId: string;
  /** Sessions at the same time. */
  readonly connectionLimit: number;
}

/** A plan for a database in the server that all PostgreSQL instances share: it limits nothing but this and sessions. */
export interface DatabasePlan extends Plan {
  /** Temporary files of one session, in kilobytes: the disk is everybody's. */
  readonly temporaryFilesKb: number;
}

/** A plan for a server of one's own. */
export interface ServerPlan extends Plan {
  readonly memoryMiB: number;
  /** Of everything that the server keeps. */
  readonly diskMiB: number;
  /** Whether logins are refused without TLS. */
  readonly tlsOnly: boolean;
}

interface Offering<P extends Plan> {
  readonly id: string;
  readonly name: string;
  readonly type: ServiceType;
  readonly displayName: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly plans: readonly P[];
}

/** Identifiers that never change, made from names. */
function stableId(name: string): string {
  const hex = createHash("sha256").update(`klutch-broker/${name}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    "-",
  );
}

const sizes: readonly (readonly [string, number])[] = [
  ["single-nano", 10],
  ["single-small", 20],
  ["single-big", 40],
  ["replica-small", 20],
  ["replica-big", 40],
];

/** The offering's name; a9s brokers append a number to it. */
const serviceName = "a9s-postgresql17";
export const serviceId: string = stableId(serviceName);

/** Those of PostgreSQL. */
export const plans: readonly DatabasePlan[] = sizes.map(([size, connectionLimit]) => ({
  id: stableId(`${serviceName}/${size}`),
  name: `postgresql-${size}`,
  description: `A PostgreSQL database with up to ${connectionLimit} sessions.`,
  free: true,
  serviceId,
  connectionLimit,
  temporaryFilesKb: connectionLimit * 100 * 1024,
}));

const postgresql: Offering<DatabasePlan> = {
  id: serviceId,
  name: serviceName,
  type: "postgresql",
  displayName: "PostgreSQL 17",
  description: "PostgreSQL databases, each with its own owner, in one server.",
  tags: ["postgresql", "sql"],
  plans,
};

interface Size {
  readonly connections: number;
  readonly memoryMiB: number;
  readonly diskMiB: number;
}

function serverPlan(
  service: string,
  name: string,
  { connections, memoryMiB, diskMiB }: Size,
  kind: string,
): ServerPlan {
  const tlsOnly = name.endsWith("-ssl");
  const limits = `up to ${connections} connections, ${memoryMiB} MiB of memory and ${diskMiB} MiB of disk`;
  return {
    id: stableId(`${service}/${name}`),
    name,
    description: `A ${kind} of one's own with ${limits}${tlsOnly ? ", reached by TLS only" : ""}.`,
    free: true,
    serviceId: stableId(service),
    connectionLimit: connections,
    memoryMiB,
    diskMiB,
    tlsOnly,
  };
}

const mariadbSizes: readonly (readonly [string, Size])[] = [
  ["single-nano", { connections: 10, memoryMiB: 256, diskMiB: 512 }],
  ["single-small", { connections: 20, memoryMiB: 512, diskMiB: 1024 }],
  ["single-big", { connections: 40, memoryMiB: 1024, diskMiB: 4096 }],
  ["cluster-small", { connections: 20, memoryMiB: 512, diskMiB: 1024 }],
  ["cluster-big", { connections: 40, memoryMiB: 1024, diskMiB: 4096 }],
];

function mariadb(number: string, suffixes: readonly string[]): Offering<ServerPlan> {
  const name = `a9s-mariadb${number}`;
  return {
    id: stableId(name),
    name,
    type: "mariadb",
    displayName: "MariaDB",
    description: "MariaDB 10.11, a server for each instance. Cluster plans have one server, too.",
    tags: ["mariadb", "mysql", "sql"],
    plans: suffixes.flatMap((suffix) =>
      mariadbSizes.map(([words, size]) =>
        serverPlan(name, `mariadb-${words}${suffix}`, size, "MariaDB server"),
      ),
    ),
  };
}

const keyvalueSizes: readonly (readonly [string, Size])[] = [
  ["single-nano", { connections: 20, memoryMiB: 32, diskMiB: 128 }],
  ["single-small", { connections: 50, memoryMiB: 64, diskMiB: 256 }],
  ["single-medium", { connections: 100, memoryMiB: 128, diskMiB: 512 }],
  ["single-big", { connections: 200, memoryMiB: 256, diskMiB: 1024 }],
  ["replica-small", { connections: 50, memoryMiB: 64, diskMiB: 256 }],
  ["replica-medium", { connections: 100, memoryMiB: 128, diskMiB: 512 }],
  ["replica-big", { connections: 200, memoryMiB: 256, diskMiB: 1024 }],
];

const keyvalueName = "a9s-keyvalue8";

const keyvalue: Offering<ServerPlan> = {
  id: stableId(keyvalueName),
  name: keyvalueName,
  type: "keyvalue",
  displayName: "Key-value store",
  description: "Redis 7, a server for each instance. Replica plans have one server, too.",
  tags: ["keyvalue", "redis"],
  plans: keyvalueSizes.map(([words, size]) =>
    serverPlan(keyvalueName, `keyvalue-${words}-ssl`, size, "key-value server"),
  ),
};

const serverOfferings = [mariadb("106", ["", "-ssl"]), mariadb("1011", ["-ssl"]), keyvalue];

/** Of every service that can be offered, whether it is or not. */
const offerings: readonly Offering<Plan>[] = [postgresql, ...serverOfferings];

/** A plan of any service. */
export function findPlan(id: unknown): Plan | undefined {
  return offerings.flatMap((offering) => offering.plans).find((plan) => plan.id === id);
}

/** Distinguishes plans of PostgreSQL from the others. */
export function isDatabasePlan(plan: Plan): plan is DatabasePlan {
  return "temporaryFilesKb" in plan;
}

/** A plan for a server of one's own. */
export function findServerPlan(id: unknown): ServerPlan | undefined {
  return serverOfferings.flatMap((offering) => offering.plans).find((plan) => plan.id === id);
}

/** What makes the instances of a service; undefined when there is no such service. */
export function typeOfService(id: unknown): ServiceType | undefined {
  return offerings.find((offering) => offering.id === id)?.type;
}

/** Services that are made by one kind of server, by their identifiers. */
export function servicesOf(type: ServiceType): readonly string[] {
  return offerings.filter((offering) => offering.type === type).map(({ id }) => id);
}

/** Plans of all services of these types. */
export function plansOf(...types: readonly ServiceType[]): readonly Plan[] {
  return offerings.filter(({ type }) => types.includes(type)).flatMap((offering) => offering.plans);
}

/** Body of `GET /v2/catalog` of a broker that makes services of these types. */
export function catalogOf(types: readonly ServiceType[]): object {
  return {
    services: offerings
      .filter(({ type }) => types.includes(type))
      .map((offering) => ({
        id: offering.id,
        name: offering.name,
        description: offering.description,
        bindable: true,
        instances_retrievable: true,
        bindings_retrievable: true,
        plan_updateable: true,
        allow_context_updates: false,
        metadata: { displayName: offering.displayName },
        tags: offering.tags,
        plans: offering.plans.map(({ id, name, description, free }) => ({
          id,
          name,
          description,
          free,
          maximum_polling_duration: 600,
        })),
      })),
  };
}
