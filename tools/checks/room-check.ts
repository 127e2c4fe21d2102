/** Holds the imports inside of the larger parts against the order of rooms.ts, and refuses circles anywhere. */
import type { Check } from "./check.ts";
import { circlesOf, type HouseRule, houseRules, roomOf } from "./rooms.ts";
import { isTestSupport } from "./source-files.ts";

export const roomChecks: readonly Check[] = [
  {
    name: "circles",
    rule: "no file imports itself by way of others, not even for types",
    advice: "give what both files need a file of its own below them",
    find: ({ imports }) => circlesOf(imports()).map((files) => files.join(" ↔ ")),
  },
  {
    name: "rooms",
    rule: "the rooms of each part import only downwards",
    advice: "move the code down, or pass it in from above; the order stands in tools/checks/rooms.ts",
    find: ({ imports }) => houseRules.flatMap((rule) => roomViolations(rule, imports())),
  },
];

/** What is wrong with the imports of one part. Tests and their helpers stand outside and look into every room. */
export function roomViolations(
  rule: HouseRule,
  graph: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const inside = (path: string): string | undefined =>
    path.startsWith(`${rule.folder}/`) ? path.slice(rule.folder.length + 1) : undefined;
  return [...graph].flatMap(([from, targets]) => {
    const path = inside(from);
    if (path === undefined || isTestSupport(from)) return [];
    const room = roomOf(rule, path);
    if (room === undefined) return [`${from} is in no room; add its folder to tools/checks/rooms.ts`];
    return targets.flatMap((to) => {
      const target = inside(to);
      const below = target === undefined ? undefined : roomOf(rule, target);
      return below !== undefined && below < room ? [`${from} imports ${to}, which is above it`] : [];
    });
  });
}
