/**
 * Logs new app clusters in at the same moment, without agents: how long they wait for their rights on every API, and how many requests the
 * backend makes for each of them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  apiServiceExportRequests,
  binderClusterRoleName,
  binderName,
  clusterBindingName,
  clusterBindings,
  identityAnnotation,
  kubeconfigKey,
} from "@klutch/api";
import {
  clusterRoles,
  type DynamicObject,
  listAt,
  namespaces,
  recordsAt,
  roleBindings,
  serviceAccounts,
} from "@klutch/kube-core";
import {
  namespaceObject,
  objectOfType,
  serverMetrics,
  serviceAccountObject,
  waitFor,
  samplesOf,
} from "@klutch/kube-testing";
import { callKey } from "../harness/api.ts";
import { cpuSecondsOf } from "../harness/process-memory.ts";
import { formatTable, type Percentiles, percentiles } from "../harness/statistics.ts";
import { startFollowing } from "../harness/stopwatch.ts";
import { type FleetControlPlane, requestOf } from "./control-plane.ts";
import type { FleetKind } from "./kinds.ts";

/** Figures of the logins of one moment. */
export interface LoginRecord {
  readonly logins: number;
  /** Milliseconds from the first object of a tenant until its account has rights in its cluster namespace. */
  readonly first: Percentiles;
  /** Milliseconds from the first object of a tenant until its account has rights on every API that it asked for. */
  readonly all: Percentiles;
  /** Requests of the backend for each login, by method, until it makes next to none. */
  readonly requests: Readonly<Record<string, number>>;
  /** Milliseconds of CPU time for each login. */
  readonly apiServerMs: number;
  readonly backendMs: number;
  /** Calls of all accounts for each login, by `callKey`. */
  readonly calls: Readonly<Record<string, number>>;
}

/** Moments at which a tenant's rights were seen, by its name. */
interface Seen {
  readonly first: Map<string, number>;
  readonly all: Map<string, number>;
}

const patienceMs = 600_000;

/** Makes `count` tenants whose names begin with `prefix`, each of which asks for all kinds. */
export async function measureLogins(
  controlPlane: FleetControlPlane,
  kinds: readonly FleetKind[],
  { prefix, count }: { readonly prefix: string; readonly count: number },
): Promise<LoginRecord> {
  const { cluster, backend } = controlPlane;
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  await using seen = await followRights(controlPlane, kinds);
  const before = await countersOf(controlPlane);
  const started = new Map<string, number>();
  await Promise.all(
    names.map(async (name) => {
      started.set(name, performance.now());
      await logIn(controlPlane, name);
      await waitFor(`the first rights of ${name}`, () => seen.first.has(name), { timeoutMs: patienceMs });
      for (const kind of kinds) await cluster.client.create(apiServiceExportRequests, requestOf(name, kind));
      await waitFor(`all rights of ${name}`, () => seen.all.has(name), { timeoutMs: patienceMs });
    }),
  );
  await untilQuiet(backend.probeUrl);
  const after = await countersOf(controlPlane);
  const tookMs = (moments: ReadonlyMap<string, number>): Percentiles =>
    percentiles(names.map((name) => (moments.get(name) ?? Number.NaN) - (started.get(name) ?? 0)));
  const each = (from: Counts, to: Counts): Record<string, number> =>
    Object.fromEntries([...to].map(([key, value]) => [key, (value - (from.get(key) ?? 0)) / count]));
  return {
    logins: count,
    first: tookMs(seen.first),
    all: tookMs(seen.all),
    requests: each(before.requests, after.requests),
    apiServerMs: (1000 * (after.apiServerCpu - before.apiServerCpu)) / count,
    backendMs: (1000 * (after.backendCpu - before.backendCpu)) / count,
    calls: each(before.calls, after.calls),
  };
}

/** Makes the objects that a login makes. */
async function logIn({ cluster: { client } }: FleetControlPlane, namespace: string): Promise<void> {
  const annotations = { [identityAnnotation]: `person-of-${namespace}#${namespace}` };
  await client.create(namespaces, namespaceObject(namespace, annotations));
  await client.create(serviceAccounts, serviceAccountObject({ namespace, name: binderName }));
  const spec = {
    kubeconfigSecretRef: { name: kubeconfigKey, key: kubeconfigKey },
    providerPrettyName: "Benchmark",
  };
  const metadata = { namespace, name: clusterBindingName };
  await client.create(clusterBindings, objectOfType(clusterBindings, metadata, { spec }));
}

/** Watches the objects that give rights: polls would be load of their own. */
async function followRights(
  { cluster: { client } }: FleetControlPlane,
  kinds: readonly FleetKind[],
): Promise<Seen & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const seen: Seen = { first: new Map(), all: new Map() };
  const bound = new Set<string>();
  const covered = new Map<string, number>();
  const judge = (tenant: string): void => {
    const apis = bound.has(tenant) ? covered.get(tenant) : undefined;
    if (apis === undefined) return;
    if (!seen.first.has(tenant)) seen.first.set(tenant, performance.now());
    if (apis === kinds.length && !seen.all.has(tenant)) seen.all.set(tenant, performance.now());
  };
  const onRoleBinding = ({ metadata: { name, namespace = "" } }: DynamicObject): void => {
    if (name === binderName) bound.add(namespace);
    judge(namespace);
  };
  const prefix = binderClusterRoleName("");
  const onRole = (role: DynamicObject): void => {
    const { name = "" } = role.metadata;
    if (!name.startsWith(prefix)) return;
    const tenant = name.slice(prefix.length);
    const resources = new Set(recordsAt(role, "rules").flatMap((rule) => listAt(rule, "resources")));
    covered.set(tenant, kinds.filter(({ type }) => resources.has(type.plural)).length);
    judge(tenant);
  };
  stack.use(await startFollowing(client, roleBindings, { onChange: (_, object) => onRoleBinding(object) }));
  stack.use(await startFollowing(client, clusterRoles, { onChange: (_, object) => onRole(object) }));
  const owned = stack.move();
  return { ...seen, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

type Counts = ReadonlyMap<string, number>;

interface Counters {
  /** Requests of the backend by method, and its conflicts. */
  readonly requests: Counts;
  readonly calls: Counts;
  readonly apiServerCpu: number;
  readonly backendCpu: number;
}

async function countersOf({ cluster, backend }: FleetControlPlane): Promise<Counters> {
  const calls = new Map<string, number>();
  for (const { labels, value } of samplesOf(await serverMetrics(cluster), "apiserver_request_total")) {
    const { verb = "", group = "", resource = "", subresource = "", code = "" } = labels;
    add(calls, callKey(verb, { group, plural: resource }, code, subresource), value);
  }
  return {
    requests: await requestsOf(backend.probeUrl),
    calls,
    apiServerCpu: cpuSecondsOf(cluster.apiServer.pid),
    backendCpu: cpuSecondsOf(backend.pid),
  };
}

async function requestsOf(probeUrl: string): Promise<Counts> {
  const text = await (await fetch(`${probeUrl}/metrics`)).text();
  const requests = new Map<string, number>();
  for (const { labels, value } of samplesOf(text, "rest_client_requests_total")) {
    const { method = "", code = "" } = labels;
    add(requests, method, value);
    if (code === "409") add(requests, "conflicts", value);
    if (code === "429") add(requests, "throttled", value);
  }
  return requests;
}

function add(counts: Map<string, number>, key: string, value: number): void {
  counts.set(key, (counts.get(key) ?? 0) + value);
}

const checkMs = 2_000;
/** Requests that the lease and single looks at tenants make between two checks. */
const restingRequests = 6;

/** A new Tenant waits five seconds for its names, so that three checks have to be quiet. */
async function untilQuiet(probeUrl: string): Promise<void> {
  const total = async (): Promise<number> =>
    (await requestsOf(probeUrl)).values().reduce((sum, value) => sum + value, 0);
  const deadline = performance.now() + patienceMs;
  for (let [quiet, last] = [0, await total()]; quiet < 3 && performance.now() < deadline; ) {
    await sleep(checkMs);
    const now = await total();
    quiet = now - last <= restingRequests ? quiet + 1 : 0;
    last = now;
  }
}

/** Returns the table of logins. */
export function formatLogins(records: readonly LoginRecord[]): string {
  const header = [
    "logins at once",
    "first rights p50 / max",
    "all rights p50 / max",
    "requests each: GET / POST / PATCH / all",
    "conflicts",
    "CPU each: API server / backend",
  ];
  const seconds = ({ p50, max }: Percentiles): string =>
    `${(p50 / 1000).toFixed(2)} / ${(max / 1000).toFixed(2)} s`;
  const rows = records.map(({ logins, first, all, requests, apiServerMs, backendMs }) => {
    const of = (name: string): number => requests[name] ?? 0;
    const methods = ["GET", "POST", "PATCH"].map(of);
    const sum = ["GET", "POST", "PATCH", "PUT", "DELETE"].map(of).reduce((total, value) => total + value, 0);
    return [
      String(logins),
      seconds(first),
      seconds(all),
      [...methods, sum].map((value) => value.toFixed(0)).join(" / "),
      of("conflicts").toFixed(1),
      `${apiServerMs.toFixed(0)} / ${backendMs.toFixed(0)} ms`,
    ];
  });
  return formatTable(header, rows);
}

/** Returns the most frequent calls of all accounts for each login. */
export function describeLoginCalls({ calls }: LoginRecord, most = 30): string {
  return Object.entries(calls)
    .filter(([key, value]) => value >= 0.5 && !key.startsWith("WATCH"))
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, most)
    .map(([key, value]) => `${value.toFixed(1)} ${key}`)
    .join(", ");
}
