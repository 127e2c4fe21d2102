/** Holds the imports inside of the larger parts against the order of their rooms in docs/architecture.md. */
import { architecturePage, type House, readArchitecture } from "./architecture.ts";
import { importGraph } from "./arrows.ts";
import type { Check } from "./check.ts";
import { isHandWritten, isTestSupport } from "./tree.ts";

export const roomCheck: Check = {
  name: "rooms",
  rule: "the rooms of each part import only downwards",
  advice: `move the code down, or pass it in from above; the order stands in ${architecturePage}`,
  find: ({ files, text }) => {
    const graph = importGraph(files(isHandWritten));
    return readArchitecture(text(architecturePage)).houses.flatMap((house) => roomViolations(house, graph));
  },
};

/** Lists the imports of one part that lead upwards, and its files without a room. Tests and their helpers stand outside and look into every room. */
export function roomViolations(
  house: House,
  graph: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const prefix = `${house.folder}/`;
  const inside = [...graph].filter(([from]) => from.startsWith(prefix) && !isTestSupport(from));
  return inside.flatMap(([from, targets]) => {
    const room = roomOf(house, from.slice(prefix.length));
    if (room < 0) return [`${from} is in no room; add its folder to ${architecturePage}`];
    return targets
      .filter((to) => to.startsWith(prefix))
      .filter((to) => roomOf(house, to.slice(prefix.length)) < room)
      .map((to) => `${from} imports ${to}, which is above it`);
  });
}

/** Returns the position of the room with the longest path that fits; -1 when none does. `path` is relative to the house. */
export function roomOf({ rooms }: House, path: string): number {
  const fits = (room: string): boolean =>
    room === "./" ? !path.includes("/") : path === room || (room.endsWith("/") && path.startsWith(room));
  const longest = rooms
    .flat()
    .filter(fits)
    .toSorted((left, right) => right.length - left.length)[0];
  return longest === undefined ? -1 : rooms.findIndex((room) => room.includes(longest));
}
