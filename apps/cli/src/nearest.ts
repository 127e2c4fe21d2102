/** Finds the names that a person may have meant. */
import { changesBetween } from "@klutch/kube-core";

/** Names that are worth showing. */
const most = 3;

/** Returns the nearest of the names, the nearest first: the word itself, else those with it in them, and those a few letters away. */
export function nearestNames(word: string, names: Iterable<string>): readonly string[] {
  const wanted = word.slice(0, 100).toLowerCase();
  const far = Math.max(2, Math.floor(wanted.length / 3));
  const near = [...new Set(names)]
    .map((name) => ({ name, distance: distanceOf(wanted, name.slice(0, 100).toLowerCase()) }))
    .filter(({ name, distance }) => name !== "" && distance <= far)
    .toSorted((one, other) => one.distance - other.distance || (one.name < other.name ? -1 : 1));
  const found = near[0]?.distance === 0 ? near.filter(({ distance }) => distance === 0) : near;
  return found.slice(0, most).map(({ name }) => name);
}

function distanceOf(word: string, name: string): number {
  if (word === name) return 0;
  return word.length >= 3 && (name.includes(word) || word.includes(name)) ? 1 : changesBetween(word, name);
}
