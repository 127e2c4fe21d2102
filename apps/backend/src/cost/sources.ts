/** Watches the objects that a bill is made of. Prices are watched in each replica; usage only where someone needs a bill. */
import {
  type Backup,
  backups as backupType,
  claimNameLabel,
  claimNamespaceLabel,
  missingAnnotation,
  namespacedBackups,
  namespacedServiceInstances,
  type ServiceInstance,
  serviceInstances,
  type UsageLedger,
  usageAnnotation,
  usageLedgers,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { configMaps, type DynamicObject, type KubeObject, type ResourceType } from "@klutch/kube-core";
import { Informer, type InformerOptions, type ManagedCache } from "@klutch/kube-runtime";
import { compositionType, priceListName, pricesAnnotation, pricesNamespace } from "@klutch/services/prices";
import type { Logger } from "@klutch/telemetry";

/** Objects that a bill is made of; an informer each in a backend. */
export interface CostSources {
  readonly instances: readonly { list(): Iterable<ServiceInstance> }[];
  readonly backups: readonly { list(): Iterable<Backup> }[];
  readonly ledgers: { list(): Iterable<UsageLedger> };
  readonly namespaces: { list(): Iterable<KubeObject> };
  readonly compositions: { list(): Iterable<KubeObject> };
  readonly prices: { list(): Iterable<DynamicObject> };
  /** Returns whether all of them are listed. */
  readonly areListed: () => boolean;
  /** Calls `handler` after each change of prices. */
  readonly onPrices: (handler: () => void) => void;
}

/** Watches the objects of a bill. Kinds of Crossplane and of the provider may be absent. */
export function watchCost(
  client: KubeClient,
  namespaces: CostSources["namespaces"],
  logger: Logger,
): {
  readonly sources: CostSources;
  readonly prices: readonly ManagedCache[];
  readonly usage: readonly ManagedCache[];
} {
  const watch = <T extends KubeObject>(
    type: ResourceType,
    more: Partial<InformerOptions<T>> = {},
  ): Informer<T> => new Informer<T>({ client, logger, type, mayBeAbsent: true, ...more });
  const instances = [serviceInstances, namespacedServiceInstances].map((type) =>
    watch<ServiceInstance>(type, { transform: usedInstance }),
  );
  const backups = [backupType, namespacedBackups].map((type) =>
    watch<Backup>(type, { transform: usedBackup }),
  );
  const ledgers = watch<UsageLedger>(usageLedgers);
  const tables = watch<KubeObject>(compositionType, { metadataOnly: true, transform: pricedComposition });
  const prices = watch<DynamicObject>(configMaps, {
    namespace: pricesNamespace,
    fieldSelector: `metadata.name=${priceListName}`,
  });
  const ofPrices = [tables, prices] as const;
  const ofUsage = [...instances, ...backups, ledgers] as const;
  const areListed = (): boolean => [...ofPrices, ...ofUsage].every(({ synced }) => synced);
  const onPrices = (handler: () => void): void => {
    tables.onChange(handler);
    prices.onChange(handler);
  };
  const sources = {
    instances,
    backups,
    ledgers,
    namespaces,
    compositions: tables,
    prices,
    areListed,
    onPrices,
  };
  return { sources, prices: ofPrices, usage: ofUsage };
}

/** Keeps the little of an instance that a bill needs: there are thousands. */
export function usedInstance(object: DynamicObject): ServiceInstance {
  const { apiVersion, kind, metadata, spec, status } = object as unknown as ServiceInstance;
  const { serviceName, planName, organizationGuid, spaceGuid } = spec.forProvider;
  const { provisionedAt, state, measured } = status?.atProvider ?? {};
  return {
    apiVersion,
    kind,
    metadata: usedMetadata(metadata),
    spec: {
      forProvider: { acceptsIncomplete: true, serviceName, planName, organizationGuid, spaceGuid },
      providerConfigRef: spec.providerConfigRef,
    },
    status: { atProvider: { provisionedAt, state, measured } },
  };
}

/** Keeps the little of a backup that a bill needs. */
function usedBackup(object: DynamicObject): Backup {
  const { apiVersion, kind, metadata, spec } = object as unknown as Backup;
  const { instanceName } = spec.forProvider;
  return { apiVersion, kind, metadata: usedMetadata(metadata), spec: { forProvider: { instanceName } } };
}

function usedMetadata({
  name,
  namespace,
  uid,
  resourceVersion,
  labels,
  annotations,
}: KubeObject["metadata"]): KubeObject["metadata"] {
  const kept = (
    of: Readonly<Record<string, string>> | undefined,
    names: readonly string[],
  ): Record<string, string> =>
    Object.fromEntries(names.flatMap((key) => (of?.[key] === undefined ? [] : [[key, of[key]]])));
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    labels: kept(labels, [claimNamespaceLabel, claimNameLabel]),
    annotations: kept(annotations, [usageAnnotation, missingAnnotation]),
  };
}

function pricedComposition({ apiVersion, kind, metadata }: DynamicObject): KubeObject {
  const { name, uid, resourceVersion, annotations } = metadata;
  const text = annotations?.[pricesAnnotation];
  const kept = text === undefined ? {} : { annotations: { [pricesAnnotation]: text } };
  return { apiVersion, kind, metadata: { name, uid, resourceVersion, ...kept } };
}
