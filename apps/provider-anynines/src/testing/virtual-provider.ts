/** The provider's controllers in virtual time, on a model of the API server, with a broker that counts. */
import { managedServiceBindings, providerConfigs, providerConfigUsages, serviceInstances } from "@klutch/api";
import { keysOfManagedChange } from "@klutch/crossplane";
import type { KubeClient } from "@klutch/kube";
import { namespaces } from "@klutch/kube-core";
import { ApiServerModel, seededRandom, VirtualClock } from "@klutch/kube-testing";
import { createLogger, createMetrics, type Metrics } from "@klutch/telemetry";
import type { TestContext } from "node:test";
import { BackupCaches } from "../backup-caches.ts";
import { createCaches } from "../caches.ts";
import {
  createBindingController,
  createInstanceController,
  createVanishedController,
} from "../controllers.ts";
import { criticalAnnotationNames } from "../critical-annotations.ts";
import type { Vanished } from "../service-instance/vanished.ts";
import { type CountedBroker, countedBroker } from "./counted-broker.ts";

/** It runs until the test ends. */
export interface VirtualProvider {
  readonly clock: VirtualClock;
  readonly user: KubeClient;
  readonly broker: CountedBroker;
  readonly metrics: Metrics;
  /** Lines of its log, warnings and errors. */
  readonly log: readonly string[];
  /** Name and id of each instance that was left at the broker. */
  readonly left: readonly string[];
}

/** Operations of the broker take `takesMs`; what is at rest is looked at every minute. */
export async function startVirtualProvider(t: TestContext, takesMs: number): Promise<VirtualProvider> {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  for (const type of [serviceInstances, managedServiceBindings, providerConfigs])
    server.register({ type, statusSubresource: true });
  server.register({ type: providerConfigUsages, statusSubresource: false });
  const client = server.client({ clusterName: "provider" });
  const broker = countedBroker(clock, takesMs);
  const metrics = createMetrics();
  const log: string[] = [];
  const left: string[] = [];
  const logger = createLogger({ name: "provider", level: "warn", write: (line) => log.push(line) });
  const random = seededRandom(1);
  const caches = createCaches({ client, logger, clock, random });
  const stop = new AbortController();
  const parts = {
    logger,
    metrics,
    clock,
    random,
    client,
    caches,
    // Empty: nothing is backed up here.
    backupCaches: new BackupCaches({ client, logger, clock, random }),
    managers: { get: () => Promise.reject(new Error("there is no backup manager")) },
    notice: () => undefined,
    onLeft: ({ managed, instanceId }: Vanished) => void left.push(`${managed.metadata.name}: ${instanceId}`),
    onProblem: undefined,
    brokers: { get: () => Promise.resolve({ ...broker, [Symbol.asyncDispose]: () => Promise.resolve() }) },
    usages: new Set<string>(),
    workers: 4,
    pollIntervalMs: 60_000,
    confirmLossMs: 30_000,
  };
  const instances = createInstanceController(parts);
  instances.watch(caches.instances, keysOfManagedChange(criticalAnnotationNames));
  const bindingController = createBindingController(parts);
  bindingController.watch(caches.bindings, keysOfManagedChange(criticalAnnotationNames));
  const controllers = [instances, bindingController, createVanishedController(parts)];
  const { instances: cache, bindings, configs } = caches;
  for (const informer of [cache, bindings, ...configs.informers]) informer.start({ signal: stop.signal });
  const running = controllers.map((controller) => controller.start({ signal: stop.signal }));
  t.after(async () => {
    stop.abort();
    await Promise.all(running);
  });
  await clock.advance(1_000);
  const user = server.client({ clusterName: "user" });
  await user.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
  return { clock, user, broker, metrics, log, left };
}
