/** Makes rows of the wire for tests: any number of app clusters and instances, with problems among them. */
import type {
  ClusterRow,
  InstanceRow,
  KonnectorRow,
  OfferRow,
  ProblemRow,
  RowOf,
  Collection,
} from "@klutch/overview/console-wire";

/** The rows of every collection. */
export type AllRows = { readonly [C in Collection]: readonly RowOf[C][] };

const start = Date.parse("2026-11-28T09:00:00Z");
const before = (minutes: number): string => new Date(start - minutes * 60_000).toISOString();
const kinds = ["PostgresqlInstance", "MariadbInstance", "RedisInstance", "ServiceBinding", "Backup"] as const;
const group = "anynines.com";
const plans = ["small", "medium", "large", "", ""] as const;

export function clusterRow(index: number, more: Partial<ClusterRow> = {}): ClusterRow {
  const isSilent = index % 37 === 5;
  return {
    id: `klutch-bind-${index}`,
    tenant: `klutch-bind-${index}`,
    name: `prod-${index}`,
    owner: `owner-${index % 60}@example.com`,
    boundBy: `owner-${index % 60}@example.com`,
    members: 1 + (index % 4),
    apis: kinds.map((kind) => `${kind.toLowerCase()}s.${group}`),
    version: index % 9 === 0 ? "1.3.0" : "1.4.2",
    lastHeartbeat: before(isSilent ? 95 : (index % 3) / 2),
    credentialEnds: before(-60 * 24 * (10 + (index % 80))),
    heldDeletions: index % 50 === 7 ? 2 : 0,
    claims: 20,
    notReady: isSilent ? 3 : 0,
    health: isSilent ? "problem" : "well",
    problem: isSilent ? "The konnector of the app cluster is silent." : "",
    ...more,
  };
}

/** Every seventh is told of the version and not there; the roll-out of every eleventh has stopped. */
export function konnectorRow(index: number, more: Partial<KonnectorRow> = {}): KonnectorRow {
  const { id, tenant, name } = clusterRow(index);
  const [isStopped, isLate] = [index % 11 === 4, index % 7 === 2];
  const isWell = !isStopped && !isLate;
  return {
    id,
    tenant,
    name,
    version: isWell ? "v1.4.2" : "v1.4.1",
    wanted: isStopped ? "v1.4.1" : "v1.4.2",
    follows: "patch from v1.4.0",
    rollout: isStopped ? "early" : "stable",
    phase: isStopped ? "Stopped" : "Progressing",
    channel: `example.org/channel=${isStopped ? "early" : "stable"}`,
    wave: 1 + (index % 3),
    health: isStopped ? "problem" : isLate ? "pending" : "well",
    says: isStopped
      ? "wave 2 went back to the version before"
      : isLate
        ? "told in wave 3, and not there yet"
        : "",
    stopped: isStopped ? `wave 2 with v1.4.2 was stopped: ${tenant} has no heartbeat` : "",
    next: isStopped ? "kubectl edit konnectorrollouts early" : "",
    ...more,
  };
}

export function instanceRow(index: number, clusters: number, more: Partial<InstanceRow> = {}): InstanceRow {
  const kind = kinds[index % kinds.length] ?? "Backup";
  const isBroken = index % 211 === 3;
  const isNew = index % 97 === 1;
  const tenant = `klutch-bind-${index % clusters}`;
  const isInstance = kind.endsWith("Instance");
  return {
    id: `${tenant}/${kind.toLowerCase()}s/team-${index % 7}/db-${index}`,
    api: `${kind.toLowerCase()}s.${group}`,
    kind,
    tenant,
    cluster: `prod-${index % clusters}`,
    namespace: `team-${index % 7}`,
    name: `db-${index}`,
    plan: plans[index % plans.length] ?? "",
    health: isBroken ? "problem" : isNew ? "pending" : "well",
    reason: isBroken ? "BrokerUnavailable" : isNew ? "Creating" : "Available",
    problem: isBroken ? "The service broker answers with 503." : "",
    created: before(30 + index * 7),
    lastBackup: kind === "PostgresqlInstance" ? before(120 + (index % 900)) : undefined,
    perMonth: isInstance ? { amount: ((index % 3) * 20 + 19).toFixed(2), currency: "EUR" } : undefined,
    ...more,
  };
}

export function problemOf(row: InstanceRow): ProblemRow {
  return {
    id: `instances ${row.id}`,
    severity: "error",
    about: { collection: "instances", id: row.id },
    title: `${row.namespace}/${row.name}`,
    tenant: row.tenant,
    reason: row.reason,
    says: row.problem,
    since: before(42),
    next: "klutch doctor --broker postgresql",
    who: "operator",
  };
}

const offer: OfferRow = {
  id: `postgresqlinstances.${group}`,
  api: `postgresqlinstances.${group}`,
  kind: "PostgresqlInstance",
  service: "PostgreSQL",
  plans: [
    { name: "small", words: "1 GiB memory, 10 GiB storage", perMonth: { amount: "19.00", currency: "EUR" } },
    { name: "medium", words: "4 GiB memory, 50 GiB storage", perMonth: { amount: "39.00", currency: "EUR" } },
  ],
  health: "well",
  problem: "",
  boundBy: ["klutch-bind-0", "klutch-bind-1"],
};

/** Returns the rows of a control plane with these numbers of app clusters and instances. */
export function allRows(clusters: number, instances: number): AllRows {
  const claims = Array.from({ length: instances }, (_, index) => instanceRow(index, clusters));
  const tenants = Array.from({ length: clusters }, (_, index) => clusterRow(index));
  const broken = claims.filter(({ health }) => health === "problem").map(problemOf);
  const silent = tenants
    .filter(({ health }) => health === "problem")
    .map(
      (row): ProblemRow => ({
        id: `clusters ${row.id}`,
        severity: "warning",
        about: { collection: "clusters", id: row.id },
        title: row.name,
        tenant: row.tenant,
        reason: "HeartbeatTimedOut",
        says: row.problem,
        since: row.lastHeartbeat,
        next: "Ask the owner of the app cluster to look at its konnector.",
        who: "developer",
      }),
    );
  const some = tenants.slice(0, 8);
  return {
    problems: [...broken, ...silent],
    offers: [
      offer,
      {
        ...offer,
        id: "mariadb",
        api: `mariadbinstances.${group}`,
        kind: "MariadbInstance",
        service: "MariaDB",
      },
      {
        ...offer,
        id: "search",
        api: `searchinstances.${group}`,
        kind: "SearchInstance",
        service: "",
        plans: [],
        health: "problem",
        problem: `CustomResourceDefinition searchinstances.${group} does not exist in this cluster`,
        boundBy: [],
      },
    ],
    clusters: tenants,
    konnectors: tenants.map((_, index) => konnectorRow(index)),
    instances: claims,
    members: some.map(({ tenant, owner }) => ({
      id: `${tenant} ${owner}`,
      tenant,
      name: owner,
      issuer: "https://dex.example.com",
      lastBound: before(3000),
    })),
    grants: some.map(({ tenant, owner, apis }, index) => ({
      id: `${tenant} ${index}`,
      tenant,
      who: owner,
      way: index % 2 === 0 ? "browser" : "session",
      templates: apis.slice(0, 2),
      at: before(3000 + index),
    })),
    audit: some.map(({ tenant, owner }, index) => ({
      id: `${tenant} ${index}`,
      tenant,
      at: before(60 * index),
      reason: index % 3 === 0 ? "BindingRevoked" : "AppClusterBound",
      says: `${owner} bound the app cluster from 192.0.2.${index}`,
    })),
    cost: some.map(({ tenant }, index) => ({
      id: `${tenant} small`,
      tenant,
      service: "PostgreSQL",
      plan: "small",
      month: "2026-11",
      hours: 640 + index,
      ...(index % 4 !== 0 && {
        backups: {
          made: 30 - index,
          gibMonths: index % 4 === 3 ? undefined : `${index}.250`,
          lacksSizes: index % 4 > 1,
        },
      }),
      ...(index % 4 !== 0 && { data: { bytes: 1.5 * 1024 ** index, lacksSizes: index % 4 > 1 } }),
      ...(index % 4 === 1 && {
        idle: {
          count: 2,
          databases: ["orders", "logs"].map((name) => ({
            namespace: "team",
            name,
            lastSession: before(86_400 * 40),
            bytes: name === "logs" ? undefined : 7 * 1024 ** 3,
            perMonth: name === "logs" ? undefined : { amount: "25.00", currency: "EUR" },
          })),
        },
      }),
      cost: index === 3 ? undefined : { amount: (17.25 + index).toFixed(2), currency: "EUR" },
    })),
  };
}

/** An empty control plane. */
export const noRows: AllRows = {
  problems: [],
  offers: [],
  clusters: [],
  konnectors: [],
  instances: [],
  members: [],
  grants: [],
  audit: [],
  cost: [],
};
