/**
 * Keeps this month's bill for the console, from the living instances, the ledgers of those that are gone, and prices. It is calculated when someone
 * looks, at most once a minute. Prices with a fault cost nothing here, and the log names the fault; a ledger with a fault means no bill.
 */
import {
  claimNamespaceLabel,
  missingAnnotation,
  namespacedServiceInstances,
  type ServiceInstance,
  serviceInstances,
  type UsageLedger,
  usageAnnotation,
  usageLedgers,
} from "@klutch/api";
import type { Clock, KubeClient } from "@klutch/kube";
import { configMaps, type DynamicObject, type KubeObject, type ResourceType } from "@klutch/kube-core";
import { Informer, type InformerOptions, type ManagedCache } from "@klutch/kube-runtime";
import {
  compositionType,
  costOf,
  hoursOfMonth,
  type Price,
  PriceBook,
  priceBookOf,
  PriceError,
  priceListName,
  pricesAnnotation,
  pricesOfConfigMap,
  shownMoney,
} from "@klutch/services/prices";
import type { CostRow, Money } from "@klutch/overview";
import type { Logger } from "@klutch/telemetry";
import { costRows } from "./cost-rows.ts";
import type { Rights } from "./rights.ts";

/** Namespace of the ConfigMap with the operator's prices. */
const pricesNamespace = "crossplane-system";
/** Time between two calculations, and before all objects are listed. */
const [restMs, firstRestMs] = [60_000, 2_000];

/** Objects that a bill is made of; an informer each in a backend. */
export interface CostSources {
  readonly instances: readonly { list(): Iterable<ServiceInstance> }[];
  readonly ledgers: { list(): Iterable<UsageLedger> };
  readonly namespaces: { list(): Iterable<KubeObject> };
  readonly compositions: { list(): Iterable<KubeObject> };
  readonly prices: { list(): Iterable<DynamicObject> };
  /** Returns whether all of them are listed. */
  readonly areListed: () => boolean;
  /** Calls `handler` after each change of prices. */
  readonly onPrices: (handler: () => void) => void;
}

/** Parts of the bill. */
export interface CostParts {
  readonly sources: CostSources;
  readonly logger: Pick<Logger, "error">;
  readonly clock: Pick<Clock, "now" | "monotonic">;
}

interface CostEntry {
  readonly row: CostRow;
  readonly text: string;
}

/** Prices as they were read last. */
interface Priced {
  readonly book: PriceBook;
  readonly faults: readonly string[];
  /** Amounts of a month by their price. */
  readonly known: Map<Price, Money>;
}

/** The bill of one replica. */
export class ConsoleCost {
  readonly #parts: CostParts;
  #entries: readonly CostEntry[] = [];
  #nextAt = Number.NEGATIVE_INFINITY;
  #told = "";
  #book: Priced | undefined;
  /** Results of `visible` for rights that are in use. */
  #seen = new WeakMap<Rights, ReadonlyMap<string, string>>();

  constructor(parts: CostParts) {
    this.#parts = parts;
    this.onPrices(() => (this.#book = undefined));
  }

  /** Calls `handler` after each change of prices. */
  onPrices(handler: () => void): void {
    this.#parts.sources.onPrices(handler);
  }

  /** Returns the price of a plan for a month of 730 hours at this moment; undefined if it has none. */
  perMonth(service: string, plan: string): Money | undefined {
    const { book, known } = this.#priced();
    const month = new Date(this.#parts.clock.now()).toISOString().slice(0, 7);
    const price = book.at(service, plan, month);
    if (price === undefined) return undefined;
    const money = known.get(price) ?? monthly(price);
    known.set(price, money);
    return money;
  }

  #priced(): Priced {
    return (this.#book ??= this.#readPrices());
  }

  #readPrices(): Priced {
    const { compositions: tables, prices } = this.#parts.sources;
    const faults: string[] = [];
    const read = (): PriceBook => priceBookOf(pricesOfConfigMap([...prices.list()][0]), [...tables.list()]);
    return { book: orFault(faults, read, new PriceBook([])), faults, known: new Map() };
  }

  /** Returns the texts of the rows that a person with these rights may see, by their ids: the same object until the bill changes. */
  visible(rights: Rights): ReadonlyMap<string, string> {
    this.#calculate();
    const known = this.#seen.get(rights);
    if (known !== undefined) return known;
    const { all, tenants, viewer } = rights;
    const isOpen = viewer.collections.includes("cost");
    const shown = this.#entries.filter(({ row }) => isOpen && (all.has("cost") || tenants.has(row.tenant)));
    const texts = new Map(shown.map(({ row, text }) => [row.id, text]));
    this.#seen.set(rights, texts);
    return texts;
  }

  #calculate(): void {
    const { clock, sources } = this.#parts;
    const now = clock.monotonic();
    if (now < this.#nextAt) return;
    this.#nextAt = now + (sources.areListed() ? restMs : firstRestMs);
    const faults: string[] = [];
    const rows = this.#rows(faults);
    this.#tell(faults.join("\n"));
    this.#entries = rows.map((row) => ({ row, text: JSON.stringify(row) }));
    this.#seen = new WeakMap();
  }

  #rows(faults: string[]): readonly CostRow[] {
    const { instances, ledgers, namespaces } = this.#parts.sources;
    const { book, faults: ofPrices } = this.#priced();
    faults.push(...ofPrices);
    const recorded = {
      instances: instances.flatMap((one) => [...one.list()]),
      ledgers: [...ledgers.list()],
      namespaces: [...namespaces.list()],
    };
    return orFault(faults, () => costRows(recorded, book, this.#parts.clock.now()), []);
  }

  /** Says a fault once, until it is another one. */
  #tell(fault: string): void {
    if (fault !== "" && fault !== this.#told)
      this.#parts.logger.error("the console shows no cost, because prices or ledgers are not valid", {
        error: fault,
      });
    this.#told = fault;
  }
}

function monthly(price: Price): Money {
  return { amount: shownMoney(costOf(price, hoursOfMonth * 3_600n)), currency: price.currency };
}

function orFault<T>(faults: string[], calculate: () => T, otherwise: T): T {
  try {
    return calculate();
  } catch (error) {
    if (!(error instanceof PriceError)) throw error;
    faults.push(error.message);
    return otherwise;
  }
}

/** Watches the objects of a bill. Kinds of Crossplane and of the provider may be absent. */
export function watchCost(
  client: KubeClient,
  namespaces: CostSources["namespaces"],
  logger: Logger,
): { readonly sources: CostSources; readonly caches: readonly ManagedCache[] } {
  const watch = <T extends KubeObject>(
    type: ResourceType,
    more: Partial<InformerOptions<T>> = {},
  ): Informer<T> => new Informer<T>({ client, logger, type, mayBeAbsent: true, ...more });
  const instances = [serviceInstances, namespacedServiceInstances].map((type) =>
    watch<ServiceInstance>(type, { transform: usedInstance }),
  );
  const ledgers = watch<UsageLedger>(usageLedgers);
  const tables = watch<KubeObject>(compositionType, { metadataOnly: true, transform: pricedComposition });
  const prices = watch<DynamicObject>(configMaps, {
    namespace: pricesNamespace,
    fieldSelector: `metadata.name=${priceListName}`,
  });
  const caches = [...instances, ledgers, tables, prices] as const;
  const areListed = (): boolean => caches.every(({ synced }) => synced);
  const onPrices = (handler: () => void): void => {
    tables.onChange(handler);
    prices.onChange(handler);
  };
  const sources = { instances, ledgers, namespaces, compositions: tables, prices, areListed, onPrices };
  return { sources, caches };
}

/** Keeps the little of an instance that a bill needs: there are thousands. */
function usedInstance(object: DynamicObject): ServiceInstance {
  const { apiVersion, kind, metadata, spec, status } = object as unknown as ServiceInstance;
  const { name, namespace, uid, resourceVersion, labels, annotations } = metadata;
  const kept = (
    of: Readonly<Record<string, string>> | undefined,
    names: readonly string[],
  ): Record<string, string> =>
    Object.fromEntries(names.flatMap((key) => (of?.[key] === undefined ? [] : [[key, of[key]]])));
  const { serviceName, planName, organizationGuid, spaceGuid } = spec.forProvider;
  const { provisionedAt, state } = status?.atProvider ?? {};
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      labels: kept(labels, [claimNamespaceLabel]),
      annotations: kept(annotations, [usageAnnotation, missingAnnotation]),
    },
    spec: {
      forProvider: { acceptsIncomplete: true, serviceName, planName, organizationGuid, spaceGuid },
      providerConfigRef: spec.providerConfigRef,
    },
    status: { atProvider: { provisionedAt, state } },
  };
}

function pricedComposition({ apiVersion, kind, metadata }: DynamicObject): KubeObject {
  const { name, uid, resourceVersion, annotations } = metadata;
  const text = annotations?.[pricesAnnotation];
  const kept = text === undefined ? {} : { annotations: { [pricesAnnotation]: text } };
  return { apiVersion, kind, metadata: { name, uid, resourceVersion, ...kept } };
}
