/** Holds the words that make a sentence hard to read, and how often each top folder may still use them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";
import type { Finders } from "./check.ts";
import { git, type SourceFile } from "./tree.ts";

/** One phrase that may only become rarer. */
interface Phrase {
  readonly name: string;
  readonly pattern: RegExp;
  /** Wording to use in its place. */
  readonly instead: string;
}

/** Counts by top folder, then by phrase. A folder or phrase that is missing counts as zero. */
export type WordCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

const commentStarts = ["What", "Of", "Those", "Whether", "Which", "Where", "How", "So", "Why", "Who"];

const existing = '"existing", or name the thing';

export const phrases: readonly Phrase[] = [
  ...[
    ["what is", "what(?: is|'s)", "name the thing: the state, the missing program"],
    ["nobody", "nobody", '"no one", "nothing else", or the passive'],
    ["anew", "anew", '"again"'],
    ["so many", "so many", "the number, or “up to …”"],
    ["whoever", "whoever", "the actor: the user, the caller, an operator"],
    ["that there is", "that there (?:is|are)", existing],
    ["that is there", "that (?:is|are) there", existing],
  ].map(([name = "", words = "", instead = ""]) => ({
    name,
    pattern: new RegExp(String.raw`\b${words}\b`, "gi"),
    instead,
  })),
  ...commentStarts.map((word) => ({
    name: `/** ${word}`,
    pattern: new RegExp(String.raw`/\*\* ${word}\b`, "g"),
    instead: "start with a verb or with the name of the thing: “Returns …”, “`PairStore` keeps …”",
  })),
];

const countsFile = "tools/checks/wording-counts.json";

export const wordingChecks: Finders = {
  wording: ({ files }) => risenCounts(recordedCounts(), countWords(files(isProse)), addedLines),
};

/** Reports whether the file holds prose that people write. The files of this check name the phrases, so they do not count. */
export function isProse(path: string): boolean {
  return /\.(?:ts|mjs|md)$/.test(path) && !path.includes("/gen/") && !path.startsWith("tools/checks/wording");
}

/** Counts each phrase in each top folder. A phrase may continue on the next line of a comment. */
export function countWords(files: readonly SourceFile[]): WordCounts {
  const counts: Record<string, Record<string, number>> = {};
  for (const { path, text } of files) {
    const ofFolder = (counts[topFolder(path)] ??= {});
    const flat = joinedLines(text);
    for (const { name, pattern } of phrases) {
      const found = flat.match(pattern)?.length ?? 0;
      if (found > 0) ofFolder[name] = (ofFolder[name] ?? 0) + found;
    }
  }
  return counts;
}

/** Lists the phrases that became more frequent, with the added lines that contain them and the wording to use. */
export function risenCounts(
  recorded: WordCounts,
  present: WordCounts,
  added: () => readonly SourceFile[],
): readonly string[] {
  return Object.entries(present).flatMap(([folder, counts]) =>
    phrases.flatMap(({ name, pattern, instead }) => {
      const [before, now] = [recorded[folder]?.[name] ?? 0, counts[name] ?? 0];
      if (now <= before) return [];
      const lines = added()
        .filter(({ path, text }) => topFolder(path) === folder && text.search(pattern) >= 0)
        .map(({ path, text }) => `\n${path}: ${text.trim()}`);
      return `${folder}: "${name}" ${now} times, ${before} recorded; write instead: ${instead}${lines.join("")}`;
    }),
  );
}

/** Writes the present counts. Throws if a phrase became more frequent in the whole tree; moving it between folders is fine. */
export function recordCounts(files: readonly SourceFile[]): void {
  const present = countWords(files);
  const recorded = recordedCounts();
  const risen = phrases.filter(({ name }) => total(present, name) > total(recorded, name));
  const names = risen.map(({ name }) => `"${name}"`).join(", ");
  if (names !== "")
    throw new Error(
      `Not recorded: ${names} became more frequent. Run npm run check -- wording to see where.`,
    );
  writeFileSync(join(repositoryRoot, countsFile), countsText(present));
}

/** Returns the counts as the data file holds them: sorted, without empty folders. */
export function countsText(counts: WordCounts): string {
  const sorted = <Value>(entries: Readonly<Record<string, Value>>): Record<string, Value> =>
    Object.fromEntries(Object.entries(entries).toSorted(([left], [right]) => (left < right ? -1 : 1)));
  const used = Object.entries(sorted(counts)).filter(([, words]) => Object.keys(words).length > 0);
  const texts = used.map(([folder, words]) => [folder, sorted(words)] as const);
  return `${JSON.stringify(Object.fromEntries(texts), undefined, 2)}\n`;
}

/** Adds up the folders' counts of a phrase. */
export function total(counts: WordCounts, name: string): number {
  return Object.values(counts).reduce((sum, words) => sum + (words[name] ?? 0), 0);
}

function recordedCounts(): WordCounts {
  return JSON.parse(readFileSync(join(repositoryRoot, countsFile), "utf8")) as WordCounts;
}

function topFolder(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : ".";
}

/** Joins lines of comments and paragraphs with single spaces. */
function joinedLines(text: string): string {
  return text.replaceAll(/\s*\n\s*(?:\*(?!\/) ?|\/\/ ?)?/g, " ").replaceAll(/\/\*\* +/g, "/** ");
}

/** Returns the lines of prose that were added since the counts were recorded. */
function addedLines(): readonly SourceFile[] {
  const commit = git("log", "-1", "--format=%H", "--", countsFile).trim() || "HEAD";
  return git("diff", "-U0", "--no-color", commit)
    .split(/^diff --git /m)
    .flatMap((diff) => {
      const path = /^\+\+\+ b\/(.*)$/m.exec(diff)?.[1] ?? "";
      const lines = isProse(path) ? (diff.match(/^\+(?!\+\+ ).*$/gm) ?? []) : [];
      return lines.map((line) => ({ path, text: line.slice(1) }));
    });
}
