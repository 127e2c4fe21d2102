/** Finds databases that no client uses, by what their brokers tell. No I/O. A database whose broker tells no session is never idle. */
import {
  claimNameOf,
  existingPlanOf,
  idleDaysOf,
  measuredOf,
  monthAt,
  type ServiceInstance,
  usageNamespaceOf,
} from "@klutch/api";
import type { KubeObject } from "@klutch/kube-core";
import { type Owner, ownersBy } from "./owners.ts";
import { monthlyMoney, type MonthlyPrice } from "./monthly-price.ts";
import type { PriceBook } from "./price-list.ts";

/** A database without a session for many days. */
export interface IdleDatabase extends Owner {
  /** Name of its claim. */
  readonly claim: string;
  readonly service: string;
  readonly plan: string;
  /** Key of the ProviderConfig of its broker. */
  readonly config: string;
  /** RFC 3339: the end of its last session; without any session, when it was made. */
  readonly lastSession: string;
  /** RFC 3339: when its broker said so. */
  readonly at: string;
  /** Whole days between the two. */
  readonly days: number;
  /** Undefined if the broker does not tell it. */
  readonly bytes: number | undefined;
  /** Undefined if the plan has no price. */
  readonly perMonth: MonthlyPrice | undefined;
}

/** Idle databases, and how many of all are known. */
export interface IdleReport {
  /** The longest idle ones first. */
  readonly databases: readonly IdleDatabase[];
  /** Databases that exist at their brokers. */
  readonly existing: number;
  /** Number of existing databases whose last session is known. */
  readonly known: number;
}

/** Objects of the control plane. */
export interface IdleSources {
  readonly instances: readonly ServiceInstance[];
  readonly namespaces: readonly KubeObject[];
}

/** Returns the databases that had no session for `leastDays` at `now`, in milliseconds since the epoch. `isMeant`: the tenants that count. */
export function idleDatabasesOf(
  { instances, namespaces }: IdleSources,
  book: PriceBook,
  {
    now,
    leastDays,
    isMeant = () => true,
  }: {
    readonly now: number;
    readonly leastDays?: number | undefined;
    readonly isMeant?: ((tenant: string) => boolean) | undefined;
  },
): IdleReport {
  const ownerOf = ownersBy(namespaces);
  const month = monthAt(now);
  let [existing, known] = [0, 0];
  const databases: IdleDatabase[] = [];
  for (const instance of instances) {
    const owner = ownerOf(usageNamespaceOf(instance));
    if (!isMeant(owner.tenant) || existingPlanOf(instance) === undefined) continue;
    existing++;
    const measured = measuredOf(instance, now);
    if (measured?.lastSession === undefined) continue;
    known++;
    const days = idleDaysOf(measured, leastDays);
    if (days === undefined) continue;
    const { at, lastSession, bytes, plan } = measured;
    const price = book.at(plan.service, plan.plan, month);
    const perMonth = price === undefined ? undefined : monthlyMoney(price);
    databases.push({
      ...owner,
      claim: claimNameOf(instance),
      ...plan,
      lastSession,
      at,
      days,
      bytes,
      perMonth,
    });
  }
  return { databases: databases.toSorted(longestFirst), existing, known };
}

function longestFirst(one: IdleDatabase, other: IdleDatabase): number {
  if (one.days !== other.days) return other.days - one.days;
  const key = ({ tenant, namespace, claim }: IdleDatabase): string =>
    JSON.stringify([tenant, namespace, claim]);
  return key(one) < key(other) ? -1 : 1;
}
