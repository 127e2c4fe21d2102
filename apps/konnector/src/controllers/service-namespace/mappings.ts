/** Releases the mappings of consumer namespaces that are gone (reference/bind.md §4.6), and only of those. */
import { apiServiceNamespaces } from "@klutch/api";
import { namespaces } from "@klutch/kube-core";
import { Controller, findSurely, type ReconcileResult, type SharedCache } from "@klutch/kube-runtime";
import { mappingOf, planMappingRelease } from "@klutch/sync";
import { confirmCluster } from "../../cluster-uid.ts";
import type { ConsumerCluster, Environment, ProviderCluster } from "../../clusters.ts";
import type { NamespaceMap } from "./namespace-map.ts";

/** What is needed for it. */
export interface MappingKeeperOptions {
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  readonly mappings: SharedCache;
  readonly consumerNamespaces: SharedCache;
  readonly namespaces: NamespaceMap;
  readonly environment: Environment;
}

/**
 * Runs until the signal aborts. The provider deletes everything in a service namespace whose mapping goes, so a mapping is deleted
 * only after two live 404s of the consumer's namespace, the grace time apart, and when nothing of a bound API is left in it.
 */
export async function keepMappings(options: MappingKeeperOptions, signal: AbortSignal): Promise<void> {
  const { consumerNamespaces, mappings, environment } = options;
  const { logger, clock, random } = environment;
  const missingSince = new Map<string, number>();
  const controller = new Controller({
    name: "mappings",
    workers: 1,
    logger,
    clock,
    random,
    reconcile: (name, context) => release(options, missingSince, name, context.signal),
  });
  using _one = controller.watch(consumerNamespaces.informer);
  using _two = controller.watch(mappings.informer, ({ object }) => [object.metadata.name ?? ""]);
  await controller.start({ signal });
}

async function release(
  options: MappingKeeperOptions,
  missingSince: Map<string, number>,
  name: string,
  signal: AbortSignal,
): Promise<ReconcileResult | undefined> {
  const { consumer, provider, mappings, consumerNamespaces, environment } = options;
  const ref = { namespace: provider.tenant.namespace, name };
  const mapping = mappings.get(`${ref.namespace}/${name}`);
  if (mapping === undefined || mapping.metadata.deletionTimestamp !== undefined) {
    missingSince.delete(name);
    return undefined;
  }
  const { graceMs } = environment.timing;
  const mapped = mappingOf(mapping);
  const providerNamespace = mapped.state === "ready" ? mapped.providerNamespace : undefined;
  const since = missingSince.get(name);
  const plan = planMappingRelease({
    cachedNamespaceExists: consumerNamespaces.get(name) !== undefined,
    missingSince: since,
    now: environment.clock.monotonic(),
    graceMs,
  });
  if (plan === "keep") {
    missingSince.delete(name);
    return undefined;
  }
  if (plan !== "lookLive") return { requeueAfterMs: plan.waitMs };
  await confirmCluster(consumer.client, consumer.uid, signal);
  if ((await findSurely(consumer.client, namespaces, { name }, signal)) !== undefined) {
    missingSince.delete(name);
    return { requeueAfterMs: graceMs };
  }
  if (since === undefined) {
    missingSince.set(name, environment.clock.monotonic());
    return { requeueAfterMs: graceMs };
  }
  // With the mapping goes all that is in the service namespace. What is left there is looked at as orphans first, which has its breaker.
  const { namespaces: map } = options;
  const isUnseen = map.mapping(name).state === "ready" && map.providerNamespaceOf(name) === undefined;
  if (isUnseen) return { requeueAfterMs: graceMs };
  const left = providerNamespace === undefined ? 0 : provider.pool.countCompact(providerNamespace);
  if (left !== 0) {
    environment.logger.debug("the namespace is gone, but not what it had on the provider", {
      namespace: name,
      objects: left,
    });
    return { requeueAfterMs: graceMs };
  }
  missingSince.delete(name);
  environment.logger.info("the namespace is gone, releasing its mapping", { namespace: name });
  const { uid } = mapping.metadata;
  await provider.client.delete(apiServiceNamespaces, ref, { preconditions: { uid }, signal });
  return undefined;
}
