/** Adds the operator's caches and controllers to a Manager, and decides which change wakes which key. */
import type { Authority, Reach } from "@klutch/data-servers";
import type { KubeClient } from "@klutch/kube";
import { keyOf, type KubeObject, type ResourceType } from "@klutch/kube-core";
import { Controller, createEventRecorder, Informer, type Manager } from "@klutch/kube-runtime";
import { createBindingReconcile } from "./bindings.ts";
import { createInstanceReconcile, isOf } from "./instances.ts";
import { createBackupReconcile, createRestoreReconcile } from "./jobs.ts";
import * as kinds from "./kinds.ts";
import { Servers } from "./servers.ts";

const component = "a8s-operator";
/** First wait after an error; doubles up to a minute. */
const baseDelayMs = 500;

/** Options of `addOperator`, besides the Manager's runtime. */
export interface OperatorOptions {
  readonly client: KubeClient;
  /** Holds the servers and the dumps. */
  readonly folder: string;
  /** Signs the servers' certificates. */
  readonly authority: Authority;
  /** Addresses and ports at which applications reach the servers. */
  readonly reach: Reach;
}

/** Adds everything. */
export function addOperator(manager: Manager, options: OperatorOptions): void {
  const { client, folder } = options;
  const { runtime } = manager;
  const cache = <T extends KubeObject>(type: ResourceType): Informer<T> =>
    new Informer<T>({ ...runtime, client, type });
  const instances = cache<kinds.Postgresql>(kinds.postgresqls);
  const bindings = cache<kinds.ServiceBinding>(kinds.serviceBindings);
  const backups = cache<kinds.Backup>(kinds.backups);
  const restores = cache<kinds.Restore>(kinds.restores);
  const onEnd = (uid: string): void => {
    for (const instance of instances.list())
      if (instance.metadata.uid === uid)
        instanceController.enqueue(keyOf(instance), { reason: "a server ended" });
  };
  const servers = manager.own(new Servers({ ...options, onEnd }));
  const recorder = createEventRecorder({ ...runtime, client, component });
  const parts = { ...runtime, client, servers, instances, bindings, recorder, folder };
  const controller = (name: string, reconcile: ReturnType<typeof createInstanceReconcile>): Controller =>
    new Controller({ ...runtime, name, reconcile, baseDelayMs });
  const instanceController = controller("postgresql", createInstanceReconcile(parts));
  const bindingController = controller("servicebinding", createBindingReconcile(parts));
  const backupController = controller("backup", createBackupReconcile(parts));
  const restoreController = controller("restore", createRestoreReconcile(parts));
  instanceController.watch(instances);
  // An instance is deleted when its last binding is gone.
  instanceController.watch(bindings, ({ type, object }) =>
    type === "deleted"
      ? [...instances.list()].filter((instance) => isOf(object, instance)).map((instance) => keyOf(instance))
      : [],
  );
  bindingController.watch(bindings);
  // The port of a server that was started again may be another one.
  bindingController.watch(instances, ({ object }) =>
    [...bindings.list()].filter((binding) => isOf(binding, object)).map((binding) => keyOf(binding)),
  );
  backupController.watch(backups);
  restoreController.watch(restores);
  manager.add(instances, bindings, backups, restores);
  manager.add(instanceController, bindingController, backupController, restoreController);
}
