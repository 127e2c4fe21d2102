/** Finds what a misspelled name probably means. */

/** Returns the name that differs least, if two changes of a character or fewer lead to it. */
export function similarName(name: string, among: readonly string[]): string | undefined {
  const [best] = among
    .map((other) => ({ other, changes: changesBetween(name, other) }))
    .filter(({ changes }) => changes <= 2)
    .toSorted((left, right) => left.changes - right.changes);
  return best?.other;
}

/** Counts the characters to insert, remove or replace: the Levenshtein distance. */
export function changesBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, character] of from.split("").entries()) {
    const next = [index + 1];
    for (const [place, other] of to.split("").entries()) {
      const replaced = (row[place] ?? 0) + (character === other ? 0 : 1);
      next.push(Math.min(replaced, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
