/** The services and plans that the broker offers (OSB 2.17 "Catalog Management"). */
import { createHash } from "node:crypto";
import type { OnDemandService } from "@klutch/engines";

/** Type of a service's instances; also the `serviceInstanceType` of a binding claim. */
export type ServiceType = "postgresql" | "mariadb" | "keyvalue" | "objectstorage" | OnDemandService;

/** A plan and its limits. */
export interface Plan {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly serviceId: string;
  /** Sessions at the same time. */
  readonly connectionLimit: number;
  /** 0: not limited. */
  readonly memoryMiB: number;
  /** Size of everything that a server stores; of PostgreSQL, which all instances share, the temporary files of one session. */
  readonly diskMiB: number;
  /** Refuses logins without TLS. */
  readonly tlsOnly: boolean;
}

/** A service with all its plans. */
export interface Service {
  readonly id: string;
  readonly name: string;
  readonly type: ServiceType;
  readonly displayName: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly plans: readonly Plan[];
}

/** Connections, MiB of memory, MiB of disk. */
type Size = readonly [number, number, number];
type Words = Pick<Service, "type" | "displayName" | "description" | "tags">;

const postgresqlWords: Words = {
  type: "postgresql",
  displayName: "PostgreSQL 17",
  description: "PostgreSQL databases, each with its own owner, in one server.",
  tags: ["postgresql", "sql"],
};
const mariadbWords: Words = {
  type: "mariadb",
  displayName: "MariaDB",
  description: "MariaDB 10.11, a server for each instance. Cluster plans have one server, too.",
  tags: ["mariadb", "mysql", "sql"],
};
const keyvalueWords: Words = {
  type: "keyvalue",
  displayName: "Key-value store",
  description: "Redis 7, a server for each instance. Replica plans have one server, too.",
  tags: ["keyvalue", "redis"],
};
const objectstorageWords: Words = {
  type: "objectstorage",
  displayName: "Object storage",
  description: "Buckets with the API of S3, a server for each instance.",
  tags: ["objectstorage", "s3"],
};
const prometheusWords: Words = {
  type: "prometheus",
  displayName: "Prometheus",
  description:
    "Prometheus 2, a server for each instance, without Alertmanager, Grafana, Graphite exporter and backups.",
  tags: ["prometheus", "metrics"],
};
const messagingWords: Words = {
  type: "messaging",
  displayName: "Messaging",
  description: "RabbitMQ 3.10, a virtual host for each instance in one server.",
  tags: ["messaging", "rabbitmq", "amqp"],
};
const mongodbWords: Words = {
  type: "mongodb",
  displayName: "MongoDB",
  description: "The protocol of MongoDB 7 by FerretDB 1.24, a server for each instance.",
  tags: ["mongodb", "nosql"],
};
const searchWords: Words = {
  type: "search",
  displayName: "Search",
  description: "OpenSearch 2.19, a server for each instance. Cluster plans have one server, too.",
  tags: ["search", "opensearch"],
};
const logme2Words: Words = {
  type: "logme2",
  displayName: "LogMe2",
  description:
    "Logs by syslog in OpenSearch 2.19, a server for each instance, without Fluentd and dashboards.",
  tags: ["logme2", "logging", "syslog"],
};

const sizes: Readonly<Record<ServiceType, Readonly<Record<string, Size>>>> = {
  postgresql: { nano: [10, 0, 1000], small: [20, 0, 2000], big: [40, 0, 4000] },
  mariadb: { nano: [10, 256, 512], small: [20, 512, 1024], big: [40, 1024, 4096] },
  keyvalue: { nano: [20, 32, 128], small: [50, 64, 256], medium: [100, 128, 512], big: [200, 256, 1024] },
  objectstorage: { nano: [20, 0, 256], small: [50, 0, 1024], big: [200, 0, 8192] },
  prometheus: { small: [20, 256, 512], big: [100, 1024, 4096] },
  messaging: { nano: [20, 0, 0], small: [50, 0, 0], big: [200, 0, 0] },
  mongodb: { nano: [20, 128, 256], small: [50, 256, 1024], big: [200, 1024, 4096] },
  search: {
    nano: [0, 512, 512],
    small: [0, 1536, 1024],
    medium: [0, 2048, 2048],
    big: [0, 4096, 4096],
  },
  logme2: { small: [200, 1024, 2048] },
};

/** Words in the names of plans with several servers. */
const severalWords: Readonly<Partial<Record<ServiceType, string>>> = {
  postgresql: "replica",
  mariadb: "cluster",
  keyvalue: "replica",
  search: "cluster",
  logme2: "cluster",
};

/** Beginnings of the plans' names that are not the type. */
const planWords: Readonly<Partial<Record<ServiceType, string>>> = { mongodb: "mongodbsspl", logme2: "logme" };

/** Returns the plans of a type by name: all sizes for one server, and all but nano for several, which have the same limits. */
function sizesOf(type: ServiceType): readonly (readonly [string, Size])[] {
  if (type === "objectstorage") return Object.entries(sizes[type]);
  const several = severalWords[type];
  const of = (prefix: string) =>
    Object.entries(sizes[type]).map(([size, limits]) => [`${prefix}-${size}`, limits] as const);
  return [
    ...of("single"),
    ...(several === undefined ? [] : of(several).filter(([name]) => !name.endsWith("-nano"))),
  ];
}

const serverWords: Readonly<Record<"mariadb" | "keyvalue" | "prometheus", string>> = {
  mariadb: "MariaDB server",
  keyvalue: "key-value server",
  prometheus: "Prometheus server",
};

/** The service that a broker always offers. */
export const postgresql: Service = serviceOf("a9s-postgresql17", postgresqlWords);
/** Every service that exists, whether or not it is offered. a9s brokers append a number to the names. */
const services: readonly Service[] = [
  postgresql,
  serviceOf("a9s-mariadb106", mariadbWords, ["", "-ssl"]),
  serviceOf("a9s-mariadb1011", mariadbWords, ["-ssl"]),
  serviceOf("a9s-keyvalue8", keyvalueWords, ["-ssl"]),
  serviceOf("klutch-objectstorage", objectstorageWords),
  serviceOf("a9s-prometheus", prometheusWords),
  serviceOf("a9s-messaging310", messagingWords, ["-ssl"]),
  serviceOf("a9s-mongodb70", mongodbWords, ["", "-ssl"]),
  serviceOf("a9s-search2", searchWords, ["-ssl"]),
  serviceOf("a9s-logme2", logme2Words, ["-ssl"]),
];

/** Plans of all services. */
export const plans: readonly Plan[] = services.flatMap((service) => service.plans);

function serviceOf(service: string, words: Words, suffixes: readonly string[] = [""]): Service {
  const { type } = words;
  const offered = suffixes.flatMap((suffix) =>
    sizesOf(type).map(([size, [connectionLimit, memoryMiB, diskMiB]]) => {
      const name = `${planWords[type] ?? type}-${size}${suffix}`;
      // The plans of PostgreSQL got theirs by another rule, and identifiers never change.
      const id = stableId(`${service}/${type === "postgresql" ? size : name}`);
      const plan = { id, name, serviceId: stableId(service), tlsOnly: suffix === "-ssl" };
      const limited = { ...plan, connectionLimit, memoryMiB, diskMiB };
      return { ...limited, description: describe(type, limited) };
    }),
  );
  return { id: stableId(service), name: service, ...words, plans: offered };
}

function describe(type: ServiceType, plan: Omit<Plan, "description">): string {
  const { connectionLimit: most, memoryMiB, diskMiB, tlsOnly } = plan;
  if (type === "postgresql") return `A PostgreSQL database with up to ${most} sessions.`;
  if (type === "objectstorage")
    return `A bucket with up to ${diskMiB} MiB and ${most} requests at the same time, reached by TLS only.`;
  if (type === "messaging")
    return `A virtual host with up to ${most} connections and ${2 * most} queues, reached by TLS only.`;
  if (type === "mongodb")
    return `A server of one's own with up to ${diskMiB} MiB for each database; every binding has all rights${tlsOnly ? ". Reached by TLS only" : ""}.`;
  if (type === "search" || type === "logme2")
    return `An OpenSearch server of one's own with up to ${memoryMiB} MiB of memory and ${diskMiB} MiB of disk, reached by TLS only.`;
  const server = serverWords[type];
  const limits = `up to ${most} connections, ${memoryMiB} MiB of memory and ${diskMiB} MiB of disk`;
  return `A ${server} of one's own with ${limits}${tlsOnly ? ", reached by TLS only" : ""}.`;
}

/** Derives identifiers that never change from names. */
function stableId(name: string): string {
  const hex = createHash("sha256").update(`klutch-broker/${name}`).digest("hex");
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Returns a plan of any service. */
export function findPlan(id: unknown): Plan | undefined {
  return plans.find((plan) => plan.id === id);
}

/** Returns the plan of an instance. Throws when no broker of this version makes it. */
export function planOf({ id, planId }: { readonly id: string; readonly planId: string }): Plan {
  const plan = findPlan(planId);
  if (plan === undefined) throw new Error(`plan ${planId} of instance ${id} is unknown`);
  return plan;
}

/** Returns what makes the instances of a service; undefined when the service does not exist. */
export function typeOfService(id: unknown): ServiceType | undefined {
  return services.find((service) => service.id === id)?.type;
}

/** Fields of the catalog that every plan has. */
const ofEveryPlan = { free: true, maximum_polling_duration: 600 };

/** Returns the body of `GET /v2/catalog` of a broker that makes services of these types. */
export function catalogOf(types: readonly ServiceType[]): object {
  const offered = services.filter(({ type }) => types.includes(type));
  return {
    services: offered.map(({ type: _type, displayName, plans: all, ...service }) => ({
      ...service,
      bindable: true,
      instances_retrievable: true,
      bindings_retrievable: true,
      plan_updateable: true,
      allow_context_updates: false,
      metadata: { displayName },
      plans: all.map(({ id, name, description }) => ({ id, name, description, ...ofEveryPlan })),
    })),
  };
}
