/** Holds docs/architecture.md against the tree: its tables name the existing folders and arrows, its paths exist. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";
import { type FolderRule, folderRules } from "./arrows.ts";
import type { Check } from "./check.ts";
import { type HouseRule, houseRules } from "./rooms.ts";

const page = "docs/architecture.md";

export const architectureCheck: Check = {
  name: "architecture",
  rule: `${page} names the existing folders, arrows and files`,
  advice: `change ${page} together with the tree`,
  find: (tree) => {
    const text = tree.text(page);
    return [
      ...wrongParts(text, folderRules),
      ...houseRules.flatMap((rule) => missingRooms(text, rule)),
      ...deadPaths(text, (path) => existsSync(join(repositoryRoot, path))),
    ];
  },
};

/** Folders that the table of parts lacks, and rows that allow other imports than the rules do. */
export function wrongParts(text: string, rules: Readonly<Record<string, FolderRule>>): readonly string[] {
  const rows = new Map(tableRows(text).map(([folder = "", , imports = ""]) => [folder, imports]));
  return Object.entries(rules).flatMap(([folder, { parts, thirdParty }]) => {
    if (!/^(?:packages|apps|sandbox|proof\/kube-testing)/.test(folder)) return [];
    const row = rows.get(`\`${folder}\``);
    if (row === undefined) return [`${page}: no row for ${folder}`];
    const wanted = [...parts, ...thirdParty].toSorted();
    const named = row
      .split(/[,;]/)
      .map((name) => name.trim())
      .filter((name) => name !== "–" && name !== "")
      .toSorted();
    return named.join() === wanted.join()
      ? []
      : [`${page}: the row of ${folder} names "${row}"; its imports are ${wanted.join(", ") || "–"}`];
  });
}

/** Folders of a part's rooms that no table names. */
export function missingRooms(text: string, { folder, rooms }: HouseRule): readonly string[] {
  const named = new Set(tableRows(text).flatMap(([first = ""]) => codeWords(first)));
  return rooms
    .flat()
    .filter((room) => room.endsWith("/") && room !== "./" && !named.has(room))
    .map((room) => `${page}: no table names ${room} of ${folder}`);
}

/** Paths of the repository in the text that do not exist. */
export function deadPaths(text: string, exists: (path: string) => boolean): readonly string[] {
  const roots = /^(?:packages|apps|services|sandbox|proof|tools|docs|designs|deploy|configuration)\//;
  const isPath = (word: string): boolean => roots.test(word) && !/[<*{ ]/.test(word);
  return [...new Set(codeWords(text))]
    .filter((word) => isPath(word) && !exists(word))
    .map((word) => `${page}: ${word} does not exist`);
}

/** Cells of the rows of all tables of a Markdown text. */
function tableRows(text: string): readonly (readonly string[])[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) =>
      line
        .slice(1, line.lastIndexOf("|"))
        .split("|")
        .map((cell) => cell.trim()),
    );
}

function codeWords(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, word = ""]) => word);
}
