/** The caches that all controllers of one provider share. */
import { apiServiceExports, apiServiceNamespaces, clusterBindings } from "@klutch/api";
import { isUnauthorized } from "@klutch/kube";
import { namespaces } from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";
import type { ConsumerCluster, RuntimeDependencies } from "../clusters.ts";
import type { ClusterCaches } from "../digests.ts";
import { NotFilledError } from "../errors.ts";
import type { ProviderConnection } from "../provider-connection/provider-connection.ts";

/** Open until it is disposed. */
export interface ProviderCaches extends AsyncDisposable {
  readonly exports: ReadYourWritesCache;
  readonly mappings: ReadYourWritesCache;
  readonly clusterBindings: ReadYourWritesCache;
  /** Namespaces of the app cluster; metadata only. */
  readonly consumerNamespaces: ReadYourWritesCache;
}

/** Most exports and namespace mappings of one provider that are read. */
const exportLimit = 1_000;
const mappingLimit = 10_000;

/** Opens the caches and waits until they are filled. Throws `NotFilledError`, or what the provider answered, when that takes too long. */
export async function openProviderCaches(
  { pool, namespace }: ProviderConnection,
  consumer: ConsumerCluster,
  runtime: RuntimeDependencies,
  signal: AbortSignal,
): Promise<ProviderCaches> {
  await using stack = new AsyncDisposableStack();
  const open = (scope: Parameters<ClusterCaches["acquire"]>[0], from = pool): ReadYourWritesCache =>
    stack.use(from.acquire(scope)).cache;
  const exports = open({ type: apiServiceExports, namespace, maxObjects: exportLimit });
  const mappings = open({ type: apiServiceNamespaces, namespace, maxObjects: mappingLimit });
  const own = open({ type: clusterBindings, namespace });
  const consumerNamespaces = open({ type: namespaces, metadataOnly: true }, consumer.pool);
  await filled([exports, mappings, own], "the provider", runtime, signal);
  await filled([consumerNamespaces], "the app cluster", runtime, signal);
  const opened = stack.move();
  return {
    exports,
    mappings,
    clusterBindings: own,
    consumerNamespaces,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function filled(
  caches: readonly ReadYourWritesCache[],
  cluster: "the provider" | "the app cluster",
  { clock, timing }: RuntimeDependencies,
  signal: AbortSignal,
): Promise<void> {
  const timeout = new AbortController();
  const cancel = clock.schedule(timing.syncTimeoutMs, () => {
    const { informer } = caches.find((cache) => !cache.informer.synced) ?? caches[0] ?? {};
    const cause = informer?.status().lastError;
    const isAnswer = cluster === "the provider" && isUnauthorized(cause);
    timeout.abort(isAnswer ? cause : new NotFilledError(cluster, timing.syncTimeoutMs, cause));
  });
  try {
    const both = AbortSignal.any([signal, timeout.signal]);
    await Promise.all(caches.map(({ informer }) => informer.whenSynced({ signal: both })));
  } catch (error) {
    // A cache only says that it was not waited for any longer.
    throw timeout.signal.aborted ? timeout.signal.reason : error;
  } finally {
    cancel();
  }
}
