/** One text for one value. */

/** JSON with sorted keys and without undefined fields: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    typeof field === "object" && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : field,
  );
}
