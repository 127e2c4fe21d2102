/** The controllers of one kind of ProviderConfig: who uses it, and how its backend is. */
import type { ProviderConfig } from "@klutch/api";
import { Controller, type Informer, type Runtime } from "@klutch/kube-runtime";
import type { KubeClient } from "@klutch/kube";
import { lanesAtOnce } from "./broker/broker-lanes.ts";
import { controllerName } from "./generation.ts";
import { createHealthReconcile, type HealthOptions } from "./provider-config-health.ts";
import { cachedUsers, hasUsers, usedConfigs, type UserCache } from "./provider-config-use.ts";
import { createUsersReconcile, type TellOfConfig } from "./provider-config-users.ts";

/** What the controller of users needs. */
export interface UsersControllerOptions extends Runtime {
  readonly client: KubeClient;
  /** The ProviderConfigs of the kind. */
  readonly informer: Informer<ProviderConfig>;
  /** All kinds of managed resources that can name them. */
  readonly users: readonly UserCache[];
  readonly onInUse: TellOfConfig;
}

/** While resources come and go, their number is written so often at most. */
const countMs = 1_000;

/** Keeps each ProviderConfig as long as something uses it. */
export function createUsersController(options: UsersControllerOptions): Controller {
  const { client, informer, users } = options;
  const controller = new Controller({
    ...options,
    name: nameOf(informer, "users"),
    reconcile: createUsersReconcile({
      ...options,
      type: informer.type,
      configOf: (key) => informer.get(key),
      usersOf: (key) => cachedUsers(users, key),
      isUsed: (key, call) => hasUsers(client, users, key, call),
    }),
  });
  controller.watch(informer);
  for (const cache of users) {
    cache.onChange((change) => {
      const before = change.type === "updated" ? usedConfigs(change.previous) : [];
      const now = usedConfigs(change.object);
      const changed = now
        .filter((key) => !before.includes(key))
        .concat(before.filter((key) => !now.includes(key)));
      for (const key of changed)
        controller.enqueue(key, { afterMs: countMs, reason: "users of the ProviderConfig changed" });
    });
  }
  return controller;
}

/** Writes into each ProviderConfig whether its backend answers. */
export function createHealthController(
  options: Runtime & HealthOptions & { readonly informer: Informer<ProviderConfig> },
): Controller {
  const controller = new Controller({
    ...options,
    name: nameOf(options.informer, "health"),
    workers: lanesAtOnce,
    reconcile: createHealthReconcile(options),
  });
  controller.watch(options.informer);
  return controller;
}

function nameOf({ type }: Pick<Informer<ProviderConfig>, "type">, work: string): string {
  return controllerName(type, `${type.kind.toLowerCase()}-${work}`);
}
