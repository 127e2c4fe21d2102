/**
 * This month's bill of one process, for the console and for budgets, from the existing instances and backups, the ledgers of those that are gone, and
 * prices. It is calculated when someone looks, at most once a minute. Prices with a fault cost nothing here, and a damaged ledger is left out; the log
 * names them.
 */
import { monthAt } from "@klutch/api";
import type { Clock } from "@klutch/kube";
import {
  type Bill,
  billOf,
  type BillLine,
  type DamagedLedger,
  type DoubtfulBackup,
  type IdleDatabase,
  idleDatabasesOf,
  type Recorded,
} from "@klutch/services/prices";
import type { Logger } from "@klutch/telemetry";
import type { Prices } from "./prices.ts";
import type { CostSources } from "./sources.ts";

/** Time between two calculations, and before all objects are listed. */
const [restMs, firstRestMs] = [60_000, 2_000];
/** Damaged ledgers that the log names. */
const mostNamed = 5;

/** The bill of a month, the same object until it is calculated again. */
export interface Month {
  /** `YYYY-MM`, in UTC. */
  readonly month: string;
  readonly lines: readonly BillLine[];
  /** The bill at the end of the month, if the databases that exist now go on. */
  readonly projected: () => readonly BillLine[];
  readonly damaged: readonly DamagedLedger[];
  readonly doubtful: readonly DoubtfulBackup[];
  /** Databases without a session for 30 days, as far as brokers tell; the longest idle ones first. */
  readonly idle: readonly IdleDatabase[];
  /** Says why there are no prices. */
  readonly fault: string | undefined;
  /** True if all objects of the bill were listed. */
  readonly isWhole: boolean;
}

/** Parts of the bill. */
export interface MonthBillParts {
  readonly sources: CostSources;
  readonly prices: Prices;
  readonly logger: Pick<Logger, "error">;
  readonly clock: Pick<Clock, "now" | "monotonic">;
}

/** Calculates it. */
export class MonthBill {
  readonly #parts: MonthBillParts;
  #current: Month | undefined;
  #nextAt = Number.NEGATIVE_INFINITY;
  #told = "";

  constructor(parts: MonthBillParts) {
    this.#parts = parts;
  }

  /** Returns the bill, which is at most a minute old. */
  current(): Month {
    const now = this.#parts.clock.monotonic();
    if (this.#current !== undefined && now < this.#nextAt) return this.#current;
    const isWhole = this.#parts.sources.areListed();
    this.#nextAt = now + (isWhole ? restMs : firstRestMs);
    this.#current = this.#calculate(isWhole);
    return this.#current;
  }

  #calculate(isWhole: boolean): Month {
    const { sources, prices, clock } = this.#parts;
    const now = clock.now();
    const month = monthAt(now);
    const { book, fault } = prices;
    const recorded: Recorded = {
      instances: sources.instances.flatMap((one) => [...one.list()]),
      backups: sources.backups.flatMap((one) => [...one.list()]),
      ledgers: [...sources.ledgers.list()],
      namespaces: [...sources.namespaces.list()],
    };
    const next = monthAfter(now);
    const billUntil = (moment: number): Bill =>
      billOf(recorded, book, { since: month, until: monthAt(next), now: moment });
    const { lines, damaged, doubtful } = billUntil(now);
    const { databases: idle } = idleDatabasesOf(recorded, book, { now });
    const names = damaged.slice(0, mostNamed).map(({ name, fault: of }) => `UsageLedger ${name}: ${of}`);
    const more = damaged.length > mostNamed ? [`${damaged.length - mostNamed} more`] : [];
    this.#tell([...(fault === undefined ? [] : [fault]), ...names, ...more].join("\n"));
    let atEnd: readonly BillLine[] | undefined;
    const projected = (): readonly BillLine[] => (atEnd ??= billUntil(next).lines);
    return { month, lines, projected, damaged, doubtful, idle, fault, isWhole };
  }

  /** Says a fault once, until it is another one. */
  #tell(fault: string): void {
    if (fault !== "" && fault !== this.#told)
      this.#parts.logger.error("a part of the bill is missing, because prices or ledgers are not valid", {
        error: fault,
      });
    this.#told = fault;
  }
}

function monthAfter(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
