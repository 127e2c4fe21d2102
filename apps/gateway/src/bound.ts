/** The resources that are bound, and Klutch's own that every app cluster watches. */
import { apiServiceExports, apiServiceNamespaces, clusterBindings } from "@klutch/api";
import type { Clock, KubeClient } from "@klutch/kube";
import type { KubeObject } from "@klutch/kube-core";
import { Informer } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import { inTime } from "./in-time.ts";

/** Kinds that each konnector watches in its cluster namespace. */
const own: ReadonlySet<string> = new Set(
  [apiServiceExports, apiServiceNamespaces, clusterBindings].map(({ plural, group }) => `${plural}.${group}`),
);

/** Returns the cache of the exports' names, each of which is `<plural>.<group>`. */
export function exportNames(client: KubeClient, logger: Logger): Informer<KubeObject> {
  return new Informer<KubeObject>({
    client,
    logger,
    type: apiServiceExports,
    metadataOnly: true,
    transform: ({ apiVersion, kind, metadata: { namespace, name, resourceVersion, uid } }) => ({
      apiVersion,
      kind,
      metadata: { namespace, name, resourceVersion, uid },
    }),
    indexes: { [byName]: ({ metadata }) => [metadata.name ?? ""] },
  });
}

const longestWaitMs = 10_000;

/**
 * Resolves when the names are there, and after ten seconds without them: a gateway whose account may not read exports passes everything
 * through, and a watch that came before the names would do so for minutes.
 */
export async function untilKnown(
  names: Pick<Informer<KubeObject>, "whenSynced">,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  await inTime(clock, longestWaitMs, names.whenSynced({ signal }));
}

/** Tells the resources that are answered from a cache. */
export function boundIn(
  names: Pick<Informer<KubeObject>, "byIndex">,
): (group: string, plural: string) => boolean {
  return (group, plural) => {
    const name = `${plural}.${group}`;
    return own.has(name) || names.byIndex(byName, name).length > 0;
  };
}

const byName = "name";
