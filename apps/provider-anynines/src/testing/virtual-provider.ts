/** The provider's controllers in virtual time, on a model of the API server, with a broker that counts. */
import { namespacedProviderConfigUsages, providerConfigUsages, usageLedgers } from "@klutch/api";
import { keysOfManagedChange } from "@klutch/crossplane";
import type { KubeClient } from "@klutch/kube";
import { namespaces } from "@klutch/kube-core";
import type { OsbClient } from "@klutch/osb";
import { ApiServerModel, Effects, seededRandom, VirtualClock, withEffects } from "@klutch/kube-testing";
import { createLogger, createMetrics, type Metrics } from "@klutch/telemetry";
import type { TestContext } from "node:test";
import { BackupCaches } from "../caches/backups.ts";
import type { Brokers } from "../broker/brokers.ts";
import { createCaches } from "../caches/instances.ts";
import {
  createBindingController,
  createInstanceController,
  createVanishedController,
} from "../controllers.ts";
import { criticalAnnotationNames } from "../records/annotations.ts";
import { createUsersController } from "../provider-config/controllers.ts";
import type { Vanished } from "../service-instance/vanished.ts";
import { type CountedBroker, countedBroker } from "./counted-broker.ts";
import { clusterScopedKinds, team, type TestKinds } from "./kinds.ts";
import type { Effect } from "./memory-manager.ts";

/** It runs until the test ends. */
export interface VirtualProvider {
  readonly clock: VirtualClock;
  readonly user: KubeClient;
  readonly broker: CountedBroker;
  readonly metrics: Metrics;
  /** Writes to the API server and calls that make or delete instances, in order. */
  readonly effects: Effects;
  /** Lines of its log, warnings and errors. */
  readonly log: readonly string[];
  /** Name and id of each instance that was left at the broker. */
  readonly left: readonly string[];
  /** Events about ProviderConfigs that are deleted while something uses them. */
  readonly inUse: readonly string[];
}

/** A crash of the provider. */
export interface VirtualCrash {
  /** Number of the effect after which it crashes, from 1. */
  readonly after: number;
  /** Events before the next provider starts. */
  readonly meanwhile: (user: KubeClient) => Promise<unknown>;
}

/** Differences from a provider of the cluster-scoped kinds that runs all the time. */
export interface VirtualProviderOptions {
  readonly crash?: VirtualCrash | undefined;
  /** Default: the cluster-scoped ones. */
  readonly kinds?: TestKinds | undefined;
}

/** Operations of the broker take `takesMs`; resources at rest are observed every minute. */
export async function startVirtualProvider(
  t: TestContext,
  takesMs: number,
  { crash, kinds: { types } = clusterScopedKinds }: VirtualProviderOptions = {},
): Promise<VirtualProvider> {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  for (const type of [types.instances, types.bindings, ...types.configs])
    server.register({ type, statusSubresource: true });
  for (const type of [providerConfigUsages, namespacedProviderConfigUsages, usageLedgers])
    server.register({ type, statusSubresource: false });
  const user = server.client({ clusterName: "user" });
  const effects = new Effects(crash === undefined ? new Map() : new Map([[crash.after, "crash"]]));
  const metrics = createMetrics();
  const fixture = { clock, user, broker: countedBroker(clock, takesMs), metrics, effects };
  const told: Told = { log: [], left: [], inUse: [] };
  const processes: Process[] = [];
  const start = (): void => {
    const stop = new AbortController();
    const effect = effects.ofProcess(() => {
      stop.abort(new Error("crashed"));
      void crash?.meanwhile(user).then(start);
    });
    const client = withEffects(server.client({ clusterName: "provider" }), effect);
    processes.push({
      stop,
      running: startControllers({ ...fixture, client, effect, told, types }, stop.signal),
    });
  };
  start();
  t.after(async () => {
    for (const { stop } of processes) stop.abort();
    await Promise.all(processes.map(({ running }) => running));
  });
  await clock.advance(1_000);
  await user.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: team } });
  return { ...fixture, ...told };
}

interface Told {
  readonly log: string[];
  readonly left: string[];
  readonly inUse: string[];
}

interface Process {
  readonly stop: AbortController;
  readonly running: Promise<unknown>;
}

interface ProcessParts extends Pick<VirtualProvider, "clock" | "broker" | "metrics"> {
  readonly client: KubeClient;
  readonly effect: Effect;
  readonly told: Told;
  readonly types: TestKinds["types"];
}

/** Resolves when they have stopped. */
function startControllers(
  { clock, broker, metrics, client, effect, told, types: scope }: ProcessParts,
  signal: AbortSignal,
): Promise<unknown> {
  const logger = createLogger({ name: "provider", level: "warn", write: (line) => told.log.push(line) });
  const random = seededRandom(1);
  const caches = createCaches({ client, logger, clock, random, scope });
  const parts = {
    logger,
    metrics,
    clock,
    random,
    client,
    caches,
    // Empty: nothing is backed up here.
    backupCaches: new BackupCaches({ client, logger, clock, random, scope }),
    managers: { get: () => Promise.reject(new Error("there is no backup manager")) },
    notice: () => undefined,
    onLeft: ({ managed, instanceId }: Vanished) =>
      void told.left.push(`${managed.metadata.name}: ${instanceId}`),
    onProblem: undefined,
    onMissing: () => undefined,
    brokers: brokersOf(broker, effect),
    usages: new Set<string>(),
    workers: 4,
    pollIntervalMs: 60_000,
    confirmLossMs: 30_000,
  };
  const instances = createInstanceController(parts);
  instances.watch(caches.instances, keysOfManagedChange(criticalAnnotationNames));
  const bindingController = createBindingController(parts);
  bindingController.watch(caches.bindings, keysOfManagedChange(criticalAnnotationNames));
  const controllers = [
    instances,
    bindingController,
    createVanishedController(parts),
    ...caches.configs.informers.map((informer) =>
      createUsersController({
        ...parts,
        informer,
        users: [caches.instances, caches.bindings],
        onInUse: (_config, message) => void told.inUse.push(message),
      }),
    ),
  ];
  const { instances: cache, bindings, configs } = caches;
  for (const informer of [cache, bindings, ...configs.informers]) informer.start({ signal });
  return Promise.all(controllers.map((controller) => controller.start({ signal })));
}

/** The broker, whose calls that make or delete instances are effects. */
function brokersOf(broker: CountedBroker, effect: Effect): Pick<Brokers, "get"> {
  const osb: OsbClient = {
    ...broker.osb,
    provision: (...call) => effect("provision", () => broker.osb.provision(...call)),
    deprovision: (...call) => effect("deprovision", () => broker.osb.deprovision(...call)),
  };
  return { get: () => Promise.resolve({ ...broker, osb, [Symbol.asyncDispose]: () => Promise.resolve() }) };
}
