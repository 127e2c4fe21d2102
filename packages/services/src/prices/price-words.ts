/** Prints the prices of offered plans as one cell of a list. */
import type { OfferedPrice } from "./offered-plans.ts";

/** Prices in a cell; further ones are counted. */
const mostShown = 50;

/**
 * Returns one cell, such as `small 25.00 EUR, big 90.00 EUR (pg17)`; `-` without prices. `longest`: characters at most; prices that do not fit
 * are counted. Default: no limit.
 */
export function pricesText(prices: readonly OfferedPrice[], longest: number = Infinity): string {
  if (prices.length === 0) return "-";
  const words = prices.slice(0, mostShown).map(wordsOf);
  for (let shown = words.length; shown > 0; shown--) {
    const more = prices.length > shown ? [`${prices.length - shown} more`] : [];
    const text = [...words.slice(0, shown), ...more].join(", ");
    if (text.length <= longest) return text;
  }
  return `${prices.length} prices`;
}

function wordsOf({ plan, services, perMonth }: OfferedPrice): string {
  const { amount, currency, backupGiB } = perMonth;
  const backups = backupGiB === undefined ? "" : ` + ${backupGiB} per GiB of backups`;
  const only = services.length === 0 ? "" : ` (${services.join(" ")})`;
  return `${plan} ${amount} ${currency}${backups}${only}`;
}
