/** The price of a month of 730 hours, as people choose by it. Every price that is shown comes from here. */
import { hoursOfMonth, shownMoney } from "./money.ts";
import { costOf, type Price } from "./price.ts";
import type { PriceBook } from "./price-list.ts";

/** Amount of money: decimal text with two digits, and a code of ISO 4217. */
export interface Money {
  readonly amount: string;
  readonly currency: string;
}

/** Returns what a month of 730 hours costs, rounded half up to two digits. */
export function monthlyMoney(price: Price): Money {
  return { amount: shownMoney(costOf(price, hoursOfMonth * 3_600n)), currency: price.currency };
}

/** Prints a price of a month for people, such as `25.00 EUR per month`. */
export function monthText({ amount, currency }: Money): string {
  return `${amount} ${currency} per month`;
}

/** Returns the price of a plan for 730 hours in a month, `YYYY-MM`; undefined if it has none. */
export function monthlyPrice(
  book: PriceBook,
  service: string,
  plan: string,
  month: string,
): Money | undefined {
  const price = book.at(service, plan, month);
  return price === undefined ? undefined : monthlyMoney(price);
}
