/** The rules about what a comment, a text or a test name may cite: only what a reader of the repository can look up. */
import { dirname, join } from "node:path";
import type { Check } from "./check.ts";
import type { SourceFile } from "./source-files.ts";

const isText = (path: string): boolean => /\.(ts|mjs|md|txt|yaml)$/.test(path) && !path.includes("/gen/");

export const citationChecks: readonly Check[] = [
  {
    name: "citations",
    rule: "no comment, text or test name cites what is not in the repository",
    advice: "say the rule or the fact itself, or name a page of docs/reference",
    find: ({ files }) => uncitable(files(isText)),
  },
  {
    name: "pages",
    rule: "every page and design that is named exists",
    advice: "name it from the root of the repository",
    find: ({ files, paths }) =>
      missingPages(
        files((path) => isText(path) && !path.endsWith(".test.ts")),
        paths,
      ),
  },
];

const word = (...pieces: readonly string[]): string => pieces.join("");
// Written in pieces, so that this file passes its own check.
const patterns: readonly RegExp[] = [
  // Documents that lie elsewhere.
  new RegExp(`\\b(?:${word("DES", "IGN")}|${word("ST", "YLE")}|${word("HO", "USE")})\\b`),
  // Sections, but not those of public standards.
  new RegExp(`^(?!.*(?:RFC|KEP|OSB|OpenID|OAuth|Unicode)).*\u{a7}`, "u"),
  // Numbers of defects, issues and findings.
  new RegExp(`\\b${word("def", "ect")}s? \\d`, "i"),
  new RegExp(`\\b(?:later|this|next) ${word("is", "sue")}\\b|\\b${word("is", "sue")} #?\\d`),
  /["'`(][SB]\d{1,2}(?:(?:, | and )[SB]\d{1,2})*[):]/,
  new RegExp(`See the module ${word("com", "ment")}`),
];

/** Lists lines that cite something that readers cannot look up. */
export function uncitable(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) =>
    text
      .split("\n")
      .map((line, index) => ({ line, at: `${path}:${index + 1}` }))
      .filter(({ line }) => patterns.some((pattern) => pattern.test(line)))
      .map(({ line, at }) => `${at}: ${line.trim()}`),
  );
}

/** Pages that are named and are not in `paths`, neither from the root nor from where they are named. */
export function missingPages(files: readonly SourceFile[], paths: ReadonlySet<string>): readonly string[] {
  const isThere = (name: string, folder: string): boolean => {
    if (/^designs\/\d{4}$/.test(name)) return [...paths].some((path) => path.startsWith(`${name}-`));
    return [".", folder, ...placesOf(folder)].some((base) => paths.has(join(base, name)));
  };
  const missing = files.flatMap(({ path, text }) =>
    [...text.matchAll(/(?<![\w./*:{}<>-])((?:[\w-]+\/)*[\w-]+\.md|designs\/\d{4})\b/g)]
      .map(([name]) => name)
      .filter((name) => !isExample(name) && !isThere(name, dirname(path)))
      .map((name) => `${path}: ${name}`),
  );
  return [...new Set(missing)];
}

/** A name that stands for one that a reader will choose. */
const isExample = (name: string): boolean => /(^|\/)example\.md$/.test(name);

/** Returns the folders where the output of a folder will lie. */
function placesOf(folder: string): readonly string[] {
  return folder === "tools/generate" ? ["docs", "docs/reference"] : [];
}
