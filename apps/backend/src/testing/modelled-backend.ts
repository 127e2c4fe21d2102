/**
 * The backend's controllers on a model of the control plane, in virtual time: the API server answers few requests at a time, as one does that is
 * busy, so that requests cost time and can be counted for each tenant.
 */
import { setImmediate as turn } from "node:timers/promises";
import {
  apiServiceExportRequests,
  apiServiceExportTemplates,
  binderClusterRoleName,
  binderName,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  deployments,
  type KubeObject,
  listAt,
  namespaces,
  recordsAt,
  resourceQuotas,
  type ResourceType,
  roleBindings,
} from "@klutch/kube-core";
import { anyObject, ApiServerModel, crdObject, VirtualClock } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { createBackend } from "../backend.ts";
import { readConfig } from "../config.ts";
import { installProvider, ownClaim, templateObject } from "./provider.ts";
import { createTenant, exportRequest } from "./tenants.ts";

/** Size of the control plane. */
export interface ModelledBackendOptions {
  /** Number of APIs on offer, each of which a tenant asks for. */
  readonly apis: number;
  /** Requests that the API server works on at the same time. */
  readonly atOnce: number;
  /** Time for each of them. */
  readonly requestMs: number;
}

/** One login as its app cluster sees it. */
export interface ModelledLogin {
  readonly name: string;
  /** Virtual milliseconds from its first object to rights in the cluster namespace, and to rights on every API. */
  readonly firstMs: number;
  readonly allMs: number;
}

/** The running backend. */
export interface ModelledBackend extends AsyncDisposable {
  readonly clock: VirtualClock;
  /** The administrator, who waits for nothing and is not counted. */
  readonly admin: KubeClient;
  /** Requests of the backend by `verb plural`, since the last call. */
  takeRequests(): ReadonlyMap<string, number>;
  /** Returns the number of reconciles of a controller since the start. */
  reconciles(controller: string): Promise<number>;
  /** Deletes the cluster namespace; resolves when it is gone. */
  endTenant(name: string): Promise<void>;
  /** Logs tenants in at the same moment; each asks for all APIs as soon as it has rights. */
  logIn(names: readonly string[]): Promise<readonly ModelledLogin[]>;
}

/** Starts it; its caches are filled. */
export async function startModelledBackend(options: ModelledBackendOptions): Promise<ModelledBackend> {
  await using stack = new AsyncDisposableStack();
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  for (const type of [clusterRoles, clusterRoleBindings, roleBindings])
    server.register({ type, statusSubresource: false, nameRule: () => true });
  for (const type of [resourceQuotas, deployments]) server.register({ type, statusSubresource: true });
  const admin = server.client({ clusterName: "administrator" });
  const kinds = Array.from({ length: options.apis }, (_, index) => kindOf(index));
  await offer(admin, kinds);
  const counts = new Map<string, number>();
  const client = busyClient(server.client({ clusterName: "control plane" }), { ...options, clock, counts });
  const abort = new AbortController();
  const { signal } = abort;
  const metrics = createMetrics();
  const backend = createBackend({
    config: await readConfig(["--bind-authorization=everyone", "--control-plane-mode"], {}),
    cluster: { name: "control plane", server: "https://control-plane.invalid", auth: { kind: "none" } },
    client,
    controllerClient: client,
    logger: silentLogger,
    auditLogger: silentLogger,
    metrics,
    clock,
    signal,
  });
  const running = Promise.allSettled(backend.parts.map(async (part) => await part.start({ signal })));
  stack.defer(async () => {
    abort.abort(new Error("the test is over"));
    while (clock.nextDueAt !== undefined && (await isPending(running))) await clock.advance(60_000);
  });
  const hasCaches = (): boolean => !(backend.problem() ?? "").includes("cache");
  if (!(await clock.run({ untilMs: clock.monotonic() + 60_000, until: hasCaches })))
    throw new Error(`the caches did not fill: ${backend.problem()}`);
  await clock.advance(30_000);
  counts.clear();
  const owned = stack.move();
  return {
    clock,
    admin,
    takeRequests() {
      const taken = new Map(counts);
      counts.clear();
      return taken;
    },
    async reconciles(controller) {
      const line = `controller_runtime_reconcile_total{controller="${controller}",`;
      return (await metrics.text())
        .split("\n")
        .filter((text) => text.startsWith(line))
        .reduce((sum, text) => sum + Number(text.split(" ").at(-1)), 0);
    },
    async endTenant(name) {
      await admin.delete(namespaces, { name });
      const isGone = (): boolean => !server.objects(namespaces).some((object) => nameOf(object) === name);
      const untilMs = clock.monotonic() + 60_000;
      if (!(await clock.run({ untilMs, until: isGone }))) throw new Error(`namespace ${name} stays`);
      await clock.advance(1_000);
    },
    async logIn(names) {
      const startedAt = clock.monotonic();
      const seen = new Map(names.map((name) => [name, { firstMs: Number.NaN, allMs: Number.NaN }]));
      await Promise.all(names.map((name) => createTenant(admin, name, `person-of-${name}#${name}`)));
      const until = (): boolean => {
        const bound = new Set(server.objects(roleBindings).map((object) => namespaceOf(object)));
        const roles = new Map(server.objects(clusterRoles).map((role) => [nameOf(role), role]));
        for (const [name, moments] of seen) {
          const role = roles.get(binderClusterRoleName(name));
          if (!Number.isNaN(moments.allMs) || role === undefined || !bound.has(name)) continue;
          const tookMs = clock.monotonic() - startedAt;
          if (Number.isNaN(moments.firstMs)) {
            moments.firstMs = tookMs;
            for (const { plural } of kinds)
              void admin.create(
                apiServiceExportRequests,
                exportRequest({ namespace: name, name: plural }, plural),
              );
          }
          const covered = new Set(recordsAt(role, "rules").flatMap((rule) => listAt(rule, "resources")));
          if (kinds.every(({ plural }) => covered.has(plural))) moments.allMs = tookMs;
        }
        return seen.values().every(({ allMs }) => !Number.isNaN(allMs));
      };
      await clock.run({ untilMs: startedAt + 600_000, until });
      return [...seen].map(([name, moments]) => ({ name, ...moments }));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function kindOf(index: number): ResourceType {
  return {
    group: "example.org",
    version: "v1",
    plural: `things${index}`,
    kind: `Thing${index}`,
    namespaced: true,
  };
}

async function offer(admin: KubeClient, kinds: readonly ResourceType[]): Promise<void> {
  const properties = { spec: anyObject, status: anyObject };
  const crds = kinds.map((type) => crdObject(type, { properties, hasStatus: true }));
  await installProvider(admin, crds);
  for (const { group, plural } of kinds)
    await admin.create(apiServiceExportTemplates, templateObject(group, plural, [ownClaim("secrets")]));
}

function nameOf(object: unknown): string {
  return (object as KubeObject).metadata.name ?? "";
}

function namespaceOf(object: unknown): string {
  const { name, namespace = "" } = (object as KubeObject).metadata;
  return name === binderName ? namespace : "";
}

/** True until it is settled. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  void promise.then(() => (isOver = true));
  await turn();
  return !isOver;
}

/** Lets few requests through at a time. Lists and watches cost nothing: caches make them once. */
function busyClient(
  model: KubeClient,
  {
    clock,
    counts,
    atOnce,
    requestMs,
  }: Pick<ModelledBackendOptions, "atOnce" | "requestMs"> & {
    readonly clock: VirtualClock;
    readonly counts: Map<string, number>;
  },
): KubeClient {
  let inFlight = 0;
  const waiting: (() => void)[] = [];
  const send = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    counts.set(what, (counts.get(what) ?? 0) + 1);
    if (inFlight >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else inFlight++;
    try {
      await clock.sleep(requestMs);
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) inFlight--;
      else next();
    }
  };
  return {
    ...model,
    clusterName: model.clusterName,
    get: (type, ref, read) => send(`get ${type.plural}`, () => model.get(type, ref, read)),
    find: (type, ref, read) => send(`get ${type.plural}`, () => model.find(type, ref, read)),
    create: (type, object, write) => send(`create ${type.plural}`, () => model.create(type, object, write)),
    apply: (type, object, how) => send(`apply ${type.plural}`, () => model.apply(type, object, how)),
    mergePatch: (type, ref, patch, write) =>
      send(`patch ${type.plural}${write?.subresource === undefined ? "" : `/${write.subresource}`}`, () =>
        model.mergePatch(type, ref, patch, write),
      ),
    delete: (type, ref, how) => send(`delete ${type.plural}`, () => model.delete(type, ref, how)),
    request: (raw) =>
      send(`${raw.method} ${raw.path.split("/").at(-1) ?? ""}`, () =>
        Promise.resolve({
          status: { token: "t", expirationTimestamp: new Date(clock.now() + 365 * 86_400_000).toISOString() },
        }),
      ),
  };
}
