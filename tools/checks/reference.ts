/** The rules that hold docs/reference against the source, and the links between pages against pages and headings. */
import { join } from "node:path";
import type { Check } from "./check.ts";
import type { Tree } from "./tree.ts";
import { explainedIn, reasonsIn } from "./reasons.ts";
import { isHandWritten, type SourceFile } from "./source-files.ts";

export const referenceChecks: readonly Check[] = [
  {
    name: "names",
    rule: "every annotation, label and finalizer of ours is in docs/reference/names.md",
    advice: "add it to its table, with what it is on, its value and who writes it",
    find: (tree) => missingIn(tree, "docs/reference/names.md", namesIn),
  },
  {
    name: "reasons",
    rule: "every type and reason of a condition and every event's reason is in docs/reference/conditions.md",
    advice: "add it to the table of its kind, or of the events",
    find: (tree) => missingIn(tree, "docs/reference/conditions.md", reasonsIn),
  },
  {
    name: "remedies",
    rule: "docs/troubleshooting.md has a row for every reason of a condition or an event, and for no other",
    advice: "say there what it means to who sees it and what to do; delete rows of what is not said any more",
    find: (tree) => unexplained(tree.text("docs/troubleshooting.md"), tree.files(isShipped)),
  },
  {
    name: "links",
    rule: "links between pages lead to a page and a heading that exist",
    advice: "name the page as it lies from the page with the link, and the heading in lower case with dashes",
    find: ({ files, paths }) => brokenLinks(files(isPage), paths),
  },
];

const isPage = (path: string): boolean => /^(docs\/.*|designs\/.*|[^/]+)\.md$/.test(path);

const isShipped = (path: string): boolean =>
  isHandWritten(path) && /^(packages|apps|sandbox)\//.test(path) && !/\.test\.ts$|\/testing\//.test(path);

/** Finds words in the sources. */
type FindWords = (files: readonly SourceFile[]) => readonly string[];

/** What the page lacks. Few words mean that the patterns no longer fit the source. */
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

/** Words that no row explains, and rows of words that no program says. */
export function unexplained(page: string, files: readonly SourceFile[]): readonly string[] {
  const said = new Set(reasonsIn(files));
  const explained = explainedIn(page);
  return [
    ...[...said].filter((word) => !explained.has(word)).map((word) => `no row explains ${word}`),
    ...[...explained].filter((word) => !said.has(word)).map((word) => `no program says ${word}`),
  ];
}

/** Names in Klutch's and Crossplane's domains that a constant holds. */
export function namesIn(files: readonly SourceFile[]): readonly string[] {
  return foundIn(files, [
    /const \w+(?:: string)? =\s*"((?:[\w-]+\.)*(?:klutch\.anynines\.com|klutch\.io|crossplane\.io)\/(?!v\d)[\w-]+)"/g,
  ]);
}

/** What the groups of the patterns match, without repetitions. */
function foundIn(files: readonly SourceFile[], patterns: readonly RegExp[]): readonly string[] {
  const all = files.flatMap(({ text }) =>
    patterns.flatMap((pattern) =>
      [...text.matchAll(pattern)].flatMap((match) => match.slice(1).filter((group) => group !== undefined)),
    ),
  );
  return [...new Set(all)].toSorted();
}

/** Links of the pages to what is not in `paths`, or to a heading that the page does not have. Links to the web are not followed. */
export function brokenLinks(pages: readonly SourceFile[], paths: ReadonlySet<string>): readonly string[] {
  const texts = new Map(pages.map(({ path, text }) => [path, text]));
  const isBroken = (from: string, file: string, anchor: string): boolean => {
    const target = file === "" ? from : join(from, "..", file).replace(/\/$/, "");
    const text = texts.get(target);
    if (text !== undefined) return anchor !== "" && !headingsOf(text).has(anchor);
    return !paths.has(target) && ![...paths].some((path) => path.startsWith(`${target}/`));
  };
  return pages.flatMap(({ path, text }) =>
    [...text.replaceAll(/`[^`\n]*`/g, "").matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
      .filter(([, file = "", anchor = ""]) => isBroken(path, file, anchor))
      .map(([link]) => `${path}: ${link}`),
  );
}

/** Anchors that are made from a page's headings. */
function headingsOf(text: string): ReadonlySet<string> {
  return new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}
