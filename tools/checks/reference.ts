/** The rules that hold docs/reference against the source, and the links between pages against pages and headings. */
import { brokenLinks } from "../docs/site.ts";
import type { Finders } from "./check.ts";
import { isHandWritten, type SourceFile, type Tree } from "./tree.ts";
import { explainedIn, reasonsIn } from "./reasons.ts";

export const referenceChecks: Finders = {
  names: (tree) => missingIn(tree, "docs/reference/names.md", namesIn),
  reasons: (tree) => missingIn(tree, "docs/reference/conditions.md", reasonsIn),
  remedies: (tree) => unexplained(tree.text("docs/troubleshooting.md"), tree.files(isShipped)),
  links: brokenLinks,
};

const isShipped = (path: string): boolean =>
  isHandWritten(path) && /^(packages|apps|sandbox)\//.test(path) && !/\.test\.ts$|\/testing\//.test(path);

/** Finds words in the sources. */
type FindWords = (files: readonly SourceFile[]) => readonly string[];

/** Lists the words that the page lacks. Few words mean that the patterns no longer fit the source. */
function missingIn(tree: Tree, path: string, find: FindWords): readonly string[] {
  const files = tree.files(isShipped);
  const count = find(files).length;
  if (count < 40) return [`only ${count} found in the source: the patterns do not fit it any more`];
  return undocumented(tree.text(path), files, find);
}

/** The words that the page does not have as code, each with the first file that has it. */
export function undocumented(page: string, files: readonly SourceFile[], find: FindWords): readonly string[] {
  const places = files.flatMap((file) => find([file]).map((word) => [word, file.path] as const));
  const first = new Map(places.toReversed());
  return [...first]
    .filter(([word]) => !page.includes(`\`${word}\``))
    .map(([word, path]) => `${path}: ${word}`)
    .toSorted();
}

/** Lists words that no row explains, and rows of words that no program contains. */
export function unexplained(page: string, files: readonly SourceFile[]): readonly string[] {
  const said = new Set(reasonsIn(files));
  const explained = explainedIn(page);
  return [
    ...[...said].filter((word) => !explained.has(word)).map((word) => `no row explains ${word}`),
    ...[...explained].filter((word) => !said.has(word)).map((word) => `no program says ${word}`),
  ];
}

/** Finds the names in Klutch's and Crossplane's domains that a constant holds. */
export function namesIn(files: readonly SourceFile[]): readonly string[] {
  const pattern =
    /const \w+(?:: string)? =\s*"((?:[\w-]+\.)*(?:klutch\.anynines\.com|klutch\.io|crossplane\.io)\/(?!v\d)[\w-]+)"/g;
  const names = files.flatMap(({ text }) => [...text.matchAll(pattern)].map(([, name = ""]) => name));
  return [...new Set(names)].toSorted();
}
