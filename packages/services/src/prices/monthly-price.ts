/** The price of a month of 730 hours, as people choose by it. Every price that is shown comes from here. */
import { hoursOfMonth, shownMoney } from "./money.ts";
import { costOf, type Price } from "./price.ts";
import type { PriceBook } from "./price-list.ts";

/** Amount of money: decimal text with two digits, and a code of ISO 4217. */
export interface Money {
  readonly amount: string;
  readonly currency: string;
}

/** Price of a plan for a month. */
export interface MonthlyPrice extends Money {
  /** Decimal text: a GiB of backups for a month, in the same currency. Absent if backups cost nothing. */
  readonly backupGiB?: string;
}

/** Returns what a month of 730 hours costs, rounded half up to two digits. */
export function monthlyMoney(price: Price): MonthlyPrice {
  const { currency, backupPerGiBMonth: backupGiB } = price;
  const amount = shownMoney(costOf(price, hoursOfMonth * 3_600n));
  return { amount, currency, ...(backupGiB !== undefined && { backupGiB }) };
}

/** Prints a price of a month for people, such as `25.00 EUR per month` or `25.00 EUR per month, backups 0.02 EUR per GiB and month`. */
export function monthText({ amount, currency, backupGiB }: MonthlyPrice): string {
  const backups = backupGiB === undefined ? "" : `, backups ${backupGiB} ${currency} per GiB and month`;
  return `${amount} ${currency} per month${backups}`;
}

/** Returns the price of a plan for 730 hours in a month, `YYYY-MM`; undefined if it has none. */
export function monthlyPrice(
  book: PriceBook,
  service: string,
  plan: string,
  month: string,
): MonthlyPrice | undefined {
  const price = book.at(service, plan, month);
  return price === undefined ? undefined : monthlyMoney(price);
}
