/** Shows the state of everything that the provider manages as metrics, read from its caches at each scrape. */
import { type Backup, objectStateOf, type ProviderConfig, type ServiceInstance } from "@klutch/api";
import { phaseOf } from "@klutch/backup-manager";
import type { Managed } from "@klutch/crossplane";
import { findCondition } from "@klutch/kube-core";
import { type Runnable, untilAborted } from "@klutch/kube-runtime";
import { type Metrics, otherValue, type Sample } from "@klutch/telemetry";
import { claimNamespaceOf } from "../claims/names.ts";
import { configNameOf } from "../provider-config/reference.ts";
import * as declarations from "../metrics.ts";
import type { BackupCaches } from "./backups.ts";
import { instancesOf, type ProviderCaches } from "./instances.ts";

/** Caches of one scope. */
export interface StateCaches {
  readonly caches: ProviderCaches;
  readonly backupCaches: Pick<BackupCaches, "backups" | "restores" | "backupsOfInstance">;
}

/** Labels of a counted resource. */
type Labels = "kind" | "claim_namespace" | "service" | "plan" | "config" | "state" | "reason";

/** Shows the metrics while this process holds the lease. `mostNamespaces`: namespaces that are shown each by itself; default 50. */
export function createResourceStates(
  metrics: Metrics,
  scopes: readonly StateCaches[],
  mostNamespaces = 50,
): Runnable {
  const { managedResources, lastBackup, brokerHealthy } = declarations;
  const bounded = <D extends typeof managedResources | typeof lastBackup>(declaration: D): D => ({
    ...declaration,
    topValues: { ...declaration.topValues, claim_namespace: mostNamespaces },
  });
  return {
    name: "resource-states",
    async start({ signal }) {
      using stack = new DisposableStack();
      stack.use(
        metrics.read(bounded(managedResources), () => scopes.flatMap((scope) => [...statesIn(scope)])),
      );
      stack.use(
        metrics.read(bounded(lastBackup), () => scopes.flatMap((scope) => [...lastBackupsIn(scope)])),
      );
      stack.use(metrics.read(brokerHealthy, () => scopes.flatMap((scope) => [...healthIn(scope)])));
      await untilAborted(signal);
    },
  };
}

function* statesIn({ caches, backupCaches }: StateCaches): Iterable<Sample<Labels>> {
  const { configs } = caches;
  for (const instance of caches.instances.list()) yield counted("instance", instance, instance, configs);
  for (const binding of caches.bindings.list())
    yield counted("binding", binding, onlyOne(instancesOf(caches, binding)), configs);
  for (const backup of backupCaches.backups.list())
    yield counted("backup", backup, onlyOne(instancesOf(caches, backup)), configs);
  for (const restore of backupCaches.restores.list()) yield counted("restore", restore, undefined, configs);
}

/** `instance`: the one that names service and plan, if it is known. */
function counted(
  kind: string,
  managed: Managed,
  instance: ServiceInstance | undefined,
  configs: ProviderCaches["configs"],
): Sample<Labels> {
  const { metadata, status } = managed;
  const { state, reason } = objectStateOf({ metadata, conditions: status?.conditions });
  const { serviceName = "", planName = "" } = instance?.spec.forProvider ?? {};
  // Any text that names no ProviderConfig comes from a person, and gets no series.
  const config = configNameOf(managed);
  return {
    labels: {
      kind,
      claim_namespace: claimNamespaceOf(managed) ?? "",
      service: serviceName,
      plan: planName,
      config: configs.get(config) === undefined ? otherValue : config,
      state,
      reason,
    },
    value: 1,
  };
}

/** Gives the end of the last good backup of each instance that has ever had one. */
function* lastBackupsIn({
  caches,
  backupCaches,
}: StateCaches): Iterable<Sample<"claim_namespace" | "service">> {
  for (const instance of caches.instances.list()) {
    if (instance.metadata.deletionTimestamp !== undefined) continue;
    const ends = backupCaches.backupsOfInstance(instance).flatMap(endOf);
    if (ends.length === 0) continue;
    const labels = {
      claim_namespace: claimNamespaceOf(instance) ?? "",
      service: instance.spec.forProvider.serviceName,
    };
    yield { labels, value: Math.max(...ends) };
  }
}

/** Seconds since the epoch, by the backup manager's clock; none of a backup that failed, runs or is deleted. */
function endOf({ status }: Backup): readonly number[] {
  const { status: state = "", finished_at: finished = "" } = status?.atProvider ?? {};
  const end = Date.parse(finished) / 1000;
  return phaseOf(state) === "Succeeded" && Number.isFinite(end) ? [end] : [];
}

/** A backend that was never checked is not shown. */
function* healthIn({ caches }: StateCaches): Iterable<Sample<"config">> {
  for (const informer of caches.configs.informers) {
    for (const config of informer.list()) {
      const status = findCondition(config.status?.conditions, "Healthy")?.status;
      if (status === undefined) continue;
      yield { labels: { config: shownConfigName(config) }, value: status === "True" ? 1 : 0 };
    }
  }
}

function shownConfigName({ metadata }: ProviderConfig): string {
  const { namespace, name = "" } = metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function onlyOne(instances: readonly ServiceInstance[]): ServiceInstance | undefined {
  return instances.length === 1 ? instances[0] : undefined;
}
