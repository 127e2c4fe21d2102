/** Durations as Go prints and reads them: `5m0s`, `1.5h`, `250ms`. */

/** Units of Go's `time.ParseDuration` in milliseconds; both letters for micro, as Go has them. */
const unitsMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  "\u00b5s": 1e-3,
  "\u03bcs": 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const part = String.raw`(\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)`;
const whole = new RegExp(`^(?:${part})+$`);

/**
 * Milliseconds of a duration, which may be a fraction; `0` needs no unit. Undefined for anything else, also for a negative duration: no one
 * here waits for less than nothing.
 */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (!whole.test(text)) return undefined;
  return [...text.matchAll(new RegExp(part, "g"))].reduce(
    (sum, [, number, unit = ""]) => sum + Number(number) * (unitsMs[unit] ?? 0),
    0,
  );
}
