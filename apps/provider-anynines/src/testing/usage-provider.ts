/** The controller of instances in virtual time with a broker that keeps a naive list, for tests that compare usage with it. */
import { providerConfigUsages, usageLedgers, type UsageLedger } from "@klutch/api";
import { keysOfManagedChange } from "@klutch/crossplane";
import type { Clock, KubeClient } from "@klutch/kube";
import { type DynamicObject } from "@klutch/kube-core";
import {
  ApiServerModel,
  type EffectFault,
  Effects,
  seededRandom,
  VirtualClock,
  withEffects,
} from "@klutch/kube-testing";
import { createLogger, createMetrics } from "@klutch/telemetry";
import type { TestContext } from "node:test";
import { BackupCaches } from "../caches/backups.ts";
import { createCaches } from "../caches/instances.ts";
import { createInstanceController, createVanishedController } from "../controllers.ts";
import { criticalAnnotationNames } from "../records/annotations.ts";
import { clusterScoped } from "../scope.ts";
import { type NaiveBroker, naiveBroker } from "./naive-broker.ts";

/** It runs until the test ends. */
export interface UsageProvider {
  /** Durations; its wall clock is not that of the provider. */
  readonly clock: VirtualClock;
  /** The wall clock of provider and broker. */
  readonly wall: Clock;
  readonly user: KubeClient;
  readonly broker: NaiveBroker;
  readonly effects: Effects;
  /** Lines of its log, warnings and errors. */
  readonly log: readonly string[];
  readonly ledgers: () => Promise<readonly UsageLedger[]>;
}

/** Differences from a provider without faults. */
export interface UsageProviderOptions {
  readonly seed?: number;
  /** Milliseconds since the epoch. Default: that of `VirtualClock`. */
  readonly startMs?: number | undefined;
  readonly faults?: ReadonlyMap<number, EffectFault>;
  /** False: the control plane lacks the kind UsageLedger. Default true. */
  readonly hasLedgers?: boolean;
  /** The wall clock ticks in steps of this. Default 1. */
  readonly tickMs?: number;
}

/** Starts a provider that is started again after each crash, until the test ends. */
export async function startUsageProvider(
  t: TestContext,
  { seed = 1, startMs, faults = new Map(), hasLedgers = true, tickMs = 1 }: UsageProviderOptions = {},
): Promise<UsageProvider> {
  const clock = new VirtualClock({ startMs });
  const wall: Clock = {
    now: () => Math.floor(clock.now() / tickMs) * tickMs,
    monotonic: () => clock.monotonic(),
    sleep: (delayMs, options) => clock.sleep(delayMs, options),
    schedule: (delayMs, callback) => clock.schedule(delayMs, callback),
  };
  const server = new ApiServerModel({ clock, uidSeed: seed });
  for (const type of [clusterScoped.instances, clusterScoped.bindings, ...clusterScoped.configs])
    server.register({ type, statusSubresource: true });
  for (const type of [providerConfigUsages, ...(hasLedgers ? [usageLedgers] : [])])
    server.register({ type, statusSubresource: false });
  const user = server.client({ clusterName: "user" });
  const effects = new Effects(faults);
  const broker = naiveBroker(wall, seededRandom(seed));
  const log: string[] = [];
  const processes: Process[] = [];
  const start = (): void => {
    const stop = new AbortController();
    const effect = effects.ofProcess(() => {
      stop.abort(new Error("crashed"));
      start();
    });
    const client = withEffects(server.client({ clusterName: "provider" }), effect);
    const osb: NaiveBroker["osb"] = {
      ...broker.osb,
      provision: (...call) => effect("provision", () => broker.osb.provision(...call)),
      update: (...call) => effect("update", () => broker.osb.update(...call)),
      deprovision: (...call) => effect("deprovision", () => broker.osb.deprovision(...call)),
    };
    processes.push({ stop, running: run({ client, wall, log, broker: { ...broker, osb } }, stop.signal) });
  };
  start();
  t.after(async () => {
    for (const { stop } of processes) stop.abort();
    await Promise.all(processes.map(({ running }) => running));
  });
  await clock.advance(1_000);
  const ledgers = (): Promise<readonly UsageLedger[]> =>
    Array.fromAsync(user.listAll<UsageLedger>(usageLedgers));
  return { clock, wall, user, broker, effects, log, ledgers };
}

interface Process {
  readonly stop: AbortController;
  readonly running: Promise<unknown>;
}

interface Parts {
  readonly client: KubeClient;
  readonly wall: Clock;
  readonly log: string[];
  readonly broker: NaiveBroker;
}

function run({ client, wall: clock, log, broker }: Parts, signal: AbortSignal): Promise<unknown> {
  const logger = createLogger({ name: "provider", level: "warn", write: (line) => log.push(line) });
  const random = seededRandom(1);
  const runtime = { client, logger, clock, random, metrics: createMetrics() };
  const caches = createCaches({ ...runtime, scope: clusterScoped });
  const parts = {
    ...runtime,
    caches,
    // Empty: nothing is backed up here.
    backupCaches: new BackupCaches({ ...runtime, scope: clusterScoped }),
    managers: { get: () => Promise.reject(new Error("there is no backup manager")) },
    notice: () => undefined,
    onLeft: () => undefined,
    onProblem: undefined,
    onMissing: () => undefined,
    brokers: { get: () => Promise.resolve({ ...broker, [Symbol.asyncDispose]: () => Promise.resolve() }) },
    usages: new Set<string>(),
    workers: 8,
    pollIntervalMs: 1_800_000,
    confirmLossMs: 30_000,
  };
  const controller = createInstanceController(parts);
  const vanished = createVanishedController(parts);
  controller.watch(caches.instances, keysOfManagedChange(criticalAnnotationNames));
  for (const informer of [caches.instances, caches.bindings, ...caches.configs.informers])
    informer.start({ signal });
  return Promise.all([controller.start({ signal }), vanished.start({ signal })]);
}

/** A ServiceInstance of a claim in the namespace. */
export function usedInstance(
  name: string,
  namespace: string,
  planName: string,
  spec: object = {},
): DynamicObject {
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: {
      name,
      labels: { "crossplane.io/claim-name": name, "crossplane.io/claim-namespace": namespace },
    },
    spec: {
      providerConfigRef: { name: "naive" },
      forProvider: {
        serviceName: "service",
        planName,
        organizationGuid: "o",
        spaceGuid: "s",
        context: { owner: `${namespace}/${name}` },
      },
      ...spec,
    },
  };
}
