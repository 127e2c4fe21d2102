/**
 * Calculates with money in whole millionths of a currency's unit. No floating-point number takes part.
 *
 * Rounding happens in two places: `costOf` rounds the cost of one row to the nearest millionth, half up, and `shownMoney` rounds to two digits for
 * people. Sums add rounded rows, so that a total is always the sum of the rows of a CSV file.
 */

import { decimalPattern } from "@klutch/api";

/** Hours of a month, as clouds count them: a month has the same price, however long it is. */
export const hoursOfMonth = 730n;

/** Byte-seconds of a GiB (2^30 bytes) that is kept for a month. */
export const gibMonth: bigint = 2n ** 30n * hoursOfMonth * 3_600n;

const isDecimal = new RegExp(decimalPattern);
const scale = 1_000_000n;

/** Returns the millionths that a decimal says; undefined if the text does not match `decimalPattern`. */
export function microsOf(text: string): bigint | undefined {
  if (!isDecimal.test(text)) return undefined;
  const [whole = "0", fraction = ""] = text.split(".");
  return BigInt(whole) * scale + BigInt(fraction.padEnd(6, "0"));
}

/** Prints millionths without loss, with at least two digits after the point, such as `12.50` or `0.000001`. */
export function exactMoney(micros: bigint): string {
  const digits = (micros % scale).toString().padStart(6, "0");
  return `${micros / scale}.${digits.replace(/0{1,4}$/, "")}`;
}

/** Prints millionths with two digits after the point, rounded half up. */
export function shownMoney(micros: bigint): string {
  const cents = (micros + 5_000n) / 10_000n;
  return `${cents / 100n}.${(cents % 100n).toString().padStart(2, "0")}`;
}

/** Divides non-negative numbers and rounds half up. */
export function divided(amount: bigint, by: bigint): bigint {
  return (2n * amount + by) / (2n * by);
}

/** Prints GiB-months with three digits after the point, rounded half up. A smaller amount than a thousandth is `<0.001`. */
export function shownGibMonths(byteSeconds: bigint): string {
  const thousandths = divided(byteSeconds * 1_000n, gibMonth);
  if (thousandths === 0n && byteSeconds > 0n) return "<0.001";
  return `${thousandths / 1_000n}.${(thousandths % 1_000n).toString().padStart(3, "0")}`;
}
