/** Prints sizes for people. */

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;

/** Prints bytes in the largest unit of which there is one at least, with one digit after the point, rounded down: `7.3 GiB`. */
export function shownBytes(bytes: bigint): string {
  let [rank, size] = [0, 1n];
  while (rank < units.length - 1 && bytes >= size * 1_024n) [rank, size] = [rank + 1, size * 1_024n];
  const tenths = (bytes * 10n) / size;
  const shown = rank === 0 ? String(bytes) : `${tenths / 10n}.${tenths % 10n}`;
  return `${shown} ${units[rank] ?? ""}`;
}
