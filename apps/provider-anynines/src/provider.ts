/** Adds the provider's caches and controllers to a Manager, and says which change wakes which key. */
import { keysOfManagedChange } from "@klutch/crossplane";
import type { KubeClient } from "@klutch/kube";
import type { Manager } from "@klutch/kube-runtime";
import { Brokers } from "./broker/brokers.ts";
import {
  bindingsOfClaim,
  createCaches,
  instanceOf,
  isUnchangedForBindings,
  type ProviderCaches,
} from "./caches.ts";
import {
  createBindingController,
  createHealthController,
  createInstanceController,
  createVanishedController,
} from "./controllers.ts";
import { criticalAnnotationNames } from "./critical-annotations.ts";

/** What the provider needs besides the Manager's runtime. */
export interface ProviderOptions {
  readonly client: KubeClient;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pollIntervalMs: number;
  /** Time between two observations of which both must find a resource gone at its broker. Default 30 000. */
  readonly confirmLossMs?: number | undefined;
  /** Resources of one kind and one broker that are worked on at the same time. */
  readonly workers: number;
}

/** Adds everything that `options` ask for. */
export function addProvider(manager: Manager, options: ProviderOptions): void {
  const { client, env, pollIntervalMs, confirmLossMs = 30_000, workers } = options;
  const { runtime } = manager;
  const caches: ProviderCaches = createCaches(client, runtime.logger);
  const { instances, bindings, configs } = caches;
  const brokers = manager.own(
    new Brokers({
      client,
      clock: runtime.clock,
      metrics: runtime.metrics,
      env,
      config: (name) => configs.get(name),
    }),
  );
  const usages = new Set<string>();
  const parts = { ...runtime, client, caches, brokers, usages, workers, pollIntervalMs, confirmLossMs };
  const instanceController = createInstanceController(parts);
  const bindingController = createBindingController(parts);
  const healthController = createHealthController(parts);
  const ownKey = keysOfManagedChange(criticalAnnotationNames);
  instanceController.watch(instances, ownKey);
  bindingController.watch(bindings, ownKey);
  // A binding that waits for its instance goes on at once, and an instance that waits for its bindings too.
  bindingController.watch(instances, (change) => {
    if (change.type === "updated" && isUnchangedForBindings(change.object, change.previous)) return [];
    return bindingsOfClaim(caches, change.object).map(({ metadata }) => metadata.name ?? "");
  });
  instanceController.watch(bindings, ({ type, object }) => {
    const instance = type === "deleted" ? instanceOf(caches, object) : undefined;
    return instance?.metadata.name === undefined ? [] : [instance.metadata.name];
  });
  healthController.watch(configs);
  manager.add(instances, bindings, configs, instanceController, bindingController, healthController);
  manager.add(createVanishedController(parts));
}
