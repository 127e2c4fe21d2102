/** The controllers of one kind of ProviderConfig: who uses it, and how its backend is. */
import type { ProviderConfig } from "@klutch/api";
import { Controller, type Informer, type Runtime } from "@klutch/kube-runtime";
import type { KubeClient } from "@klutch/kube";
import { brokersAtOnce } from "../broker/queues.ts";
import { controllerName } from "../scope.ts";
import { createHealthReconcile, type HealthOptions } from "./health.ts";
import { cachedUsers, hasUsers, type UserCache } from "./use.ts";
import { watchConfigs } from "../wakes.ts";
import { createUsersReconcile, type TellOfConfig } from "./users.ts";

/** Dependencies of the controller of users. */
export interface UsersControllerOptions extends Runtime {
  readonly client: KubeClient;
  /** The ProviderConfigs of the kind. */
  readonly informer: Informer<ProviderConfig>;
  /** All kinds of managed resources that can name them. */
  readonly users: readonly UserCache[];
  readonly onInUse: TellOfConfig;
}

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
  watchConfigs(controller, informer, users);
  return controller;
}

/** Writes into each ProviderConfig whether its backend answers. */
export function createHealthController(
  options: Runtime & HealthOptions & { readonly informer: Informer<ProviderConfig> },
): Controller {
  const controller = new Controller({
    ...options,
    name: nameOf(options.informer, "health"),
    workers: brokersAtOnce,
    reconcile: createHealthReconcile(options),
  });
  watchConfigs(controller, options.informer);
  return controller;
}

function nameOf({ type }: Pick<Informer<ProviderConfig>, "type">, work: string): string {
  return controllerName(type, `${type.kind.toLowerCase()}-${work}`);
}
