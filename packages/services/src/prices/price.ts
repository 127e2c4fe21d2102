/** Defines the price of a plan, as tables and price lists write it. */
import { decimalPattern } from "@klutch/api";
import { recordAt, textAt } from "@klutch/kube-core";
import { object, type Problem, type Schema, string, valueText } from "@klutch/schema";
import { divided, gibMonth, hoursOfMonth, microsOf } from "./money.ts";

/** A price of one plan. Exactly one of `perHour` and `perMonth` is there. */
export interface Price {
  /** Code of ISO 4217, such as `EUR`. */
  readonly currency: string;
  /** Decimal in quotes, such as `"0.035"`. */
  readonly perHour?: string | undefined;
  /** For 730 hours. */
  readonly perMonth?: string | undefined;
  /** For a GiB (2^30 bytes) of backups that is kept for 730 hours. Default: backups cost nothing. */
  readonly backupPerGiBMonth?: string | undefined;
}

const decimal: Schema<string> = string({ pattern: decimalPattern, maxLength: 16 });

/** Fields of a price. `priceProblems` checks the rest. */
export const priceFields: Schema<Price> = object(
  { currency: string({ pattern: "^[A-Z]{3}$" }) },
  { perHour: decimal, perMonth: decimal, backupPerGiBMonth: decimal },
);

const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

/** Lists the faults of a price that its schema does not find: an unknown currency, two prices, or none. */
export function priceProblems(value: unknown, field: string): readonly Problem[] {
  const price = recordAt(value);
  const currency = textAt(value, "currency");
  const given = ["perHour", "perMonth"].filter((name) => price[name] !== undefined);
  const unknown =
    currency !== undefined && /^[A-Z]{3}$/.test(currency) && !currencies.has(currency)
      ? [
          {
            field: `${field}.currency`,
            value: valueText(currency),
            expected: "a code of ISO 4217, such as EUR",
          },
        ]
      : [];
  if (given.length === 1) return unknown;
  const words = given.length === 0 ? "without a price" : "two prices";
  return [...unknown, { field, value: words, expected: "exactly one of perHour and perMonth" }];
}

/** Returns the millionths that `seconds` cost, rounded half up. */
export function costOf({ perHour, perMonth }: Price, seconds: bigint): bigint {
  const hourly = perHour === undefined ? undefined : microsOf(perHour);
  if (hourly !== undefined) return divided(hourly * seconds, 3_600n);
  return divided((microsOf(perMonth ?? "0") ?? 0n) * seconds, hoursOfMonth * 3_600n);
}

/** Returns the millionths that backups cost, rounded half up; undefined if the price has none for backups. */
export function backupCostOf({ backupPerGiBMonth }: Price, byteSeconds: bigint): bigint | undefined {
  const micros = backupPerGiBMonth === undefined ? undefined : microsOf(backupPerGiBMonth);
  return micros === undefined ? undefined : divided(micros * byteSeconds, gibMonth);
}
