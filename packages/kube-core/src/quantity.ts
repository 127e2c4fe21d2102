/** Quantities of resources as Kubernetes writes them: `500m`, `128Mi`, `1e3`. */

const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const form = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([numkMGTPE]|[KMGTPE]i)?$/;

/** A quantity as a number, in a double's precision; undefined for anything else. A plain number is one too. */
export function parseQuantity(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  const match = form.exec(typeof value === "string" ? value : "");
  return match === null ? undefined : Number(match[1]) * (suffixes[match[2] ?? ""] ?? 1);
}

/** Returns true if both quantities are the same amount, in any notation: a server writes `1000m` as `1`. */
export function sameQuantity(left: unknown, right: unknown): boolean {
  const [a, b] = [parseQuantity(left), parseQuantity(right)];
  return a !== undefined && b !== undefined && Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
}
