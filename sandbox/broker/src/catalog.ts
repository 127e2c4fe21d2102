/** The services and plans that the broker offers (OSB 2.17 "Catalog Management"). */
import { createHash } from "node:crypto";

/** What makes the instances of a service; also the `serviceInstanceType` of a binding claim. */
export type ServiceType = "postgresql" | "mariadb" | "keyvalue";

/** A plan of the offering. */
export interface Plan {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly serviceId: string;
  /** Sessions at the same time. */
  readonly connectionLimit: number;
}

/** A plan for a database in the server that all PostgreSQL instances share. */
export interface DatabasePlan extends Plan {
  /** Temporary files of one session, in kilobytes: all instances share the disk. */
  readonly temporaryFilesKb: number;
}

/** A plan for a server of its own. */
export interface ServerPlan extends Plan {
  readonly memoryMiB: number;
  /** Size of everything that the server stores. */
  readonly diskMiB: number;
  /** Refuses logins without TLS. */
  readonly tlsOnly: boolean;
}

interface Offering<P extends Plan = Plan> {
  readonly id: string;
  readonly name: string;
  readonly type: ServiceType;
  readonly displayName: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly plans: readonly P[];
}

/** Derives identifiers that never change from names. */
function stableId(name: string): string {
  const hex = createHash("sha256").update(`klutch-broker/${name}`).digest("hex");
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The offering's name; a9s brokers append a number to it. */
const serviceName = "a9s-postgresql17";
export const serviceId: string = stableId(serviceName);

/** Plans of PostgreSQL. */
export const plans: readonly DatabasePlan[] = (
  [
    ["single-nano", 10],
    ["single-small", 20],
    ["single-big", 40],
    ["replica-small", 20],
    ["replica-big", 40],
  ] as const
).map(([size, connectionLimit]) => ({
  id: stableId(`${serviceName}/${size}`),
  name: `postgresql-${size}`,
  description: `A PostgreSQL database with up to ${connectionLimit} sessions.`,
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

/** Name, connections, MiB of memory, MiB of disk. */
type Size = readonly [string, number, number, number];

const mariadbSizes: readonly Size[] = [
  ["single-nano", 10, 256, 512],
  ["single-small", 20, 512, 1024],
  ["single-big", 40, 1024, 4096],
  ["cluster-small", 20, 512, 1024],
  ["cluster-big", 40, 1024, 4096],
];
const keyvalueSizes: readonly Size[] = [
  ["single-nano", 20, 32, 128],
  ["single-small", 50, 64, 256],
  ["single-medium", 100, 128, 512],
  ["single-big", 200, 256, 1024],
  ["replica-small", 50, 64, 256],
  ["replica-medium", 100, 128, 512],
  ["replica-big", 200, 256, 1024],
];

const mariadb = {
  type: "mariadb",
  displayName: "MariaDB",
  description: "MariaDB 10.11, a server for each instance. Cluster plans have one server, too.",
  tags: ["mariadb", "mysql", "sql"],
} as const;
const keyvalue = {
  type: "keyvalue",
  displayName: "Key-value store",
  description: "Redis 7, a server for each instance. Replica plans have one server, too.",
  tags: ["keyvalue", "redis"],
} as const;

function serverOffering(
  service: string,
  words: typeof mariadb | typeof keyvalue,
  server: string,
  sizes: readonly Size[],
  suffixes: readonly string[],
): Offering<ServerPlan> {
  const offered = suffixes.flatMap((suffix) =>
    sizes.map(([size, connectionLimit, memoryMiB, diskMiB]) => {
      const name = `${words.type}-${size}${suffix}`;
      const tlsOnly = suffix === "-ssl";
      const limits = `up to ${connectionLimit} connections, ${memoryMiB} MiB of memory and ${diskMiB} MiB of disk`;
      const description = `A ${server} of one's own with ${limits}${tlsOnly ? ", reached by TLS only" : ""}.`;
      const ids = { id: stableId(`${service}/${name}`), serviceId: stableId(service) };
      return { ...ids, name, description, connectionLimit, memoryMiB, diskMiB, tlsOnly };
    }),
  );
  return { id: stableId(service), name: service, ...words, plans: offered };
}

const serverOfferings = [
  serverOffering("a9s-mariadb106", mariadb, "MariaDB server", mariadbSizes, ["", "-ssl"]),
  serverOffering("a9s-mariadb1011", mariadb, "MariaDB server", mariadbSizes, ["-ssl"]),
  serverOffering("a9s-keyvalue8", keyvalue, "key-value server", keyvalueSizes, ["-ssl"]),
];
/** Every service that exists, whether or not it is offered. */
const offerings: readonly Offering[] = [postgresql, ...serverOfferings];

/** Plans for a server of its own. */
export const serverPlans: readonly ServerPlan[] = serverOfferings.flatMap((offering) => offering.plans);

/** Returns a plan of any service. */
export function findPlan(id: unknown): Plan | undefined {
  return [...plans, ...serverPlans].find((plan) => plan.id === id);
}

/** Returns what makes the instances of a service; undefined when the service does not exist. */
export function typeOfService(id: unknown): ServiceType | undefined {
  return offerings.find((offering) => offering.id === id)?.type;
}

/** Returns the body of `GET /v2/catalog` of a broker that makes services of these types. */
export function catalogOf(types: readonly ServiceType[]): object {
  const services = offerings.filter(({ type }) => types.includes(type));
  return {
    services: services.map(({ type: _type, displayName, plans: offered, ...service }) => ({
      ...service,
      bindable: true,
      instances_retrievable: true,
      bindings_retrievable: true,
      plan_updateable: true,
      allow_context_updates: false,
      metadata: { displayName },
      plans: offered.map(({ id, name, description }) => ({
        id,
        name,
        description,
        free: true,
        maximum_polling_duration: 600,
      })),
    })),
  };
}
