/** Maps each file of the repository to its place on the site, and orders the pages in the navigation. */
import { codeWords, rowsIn } from "../generate/page.ts";

/** Returns true for the pages of the site. Other files are shown as they are when a page links to them. */
export function isPage(path: string): boolean {
  return /^(?:docs\/.*|designs\/.*|deploy\/.*|packages\/[^/]+\/README|proof\/.*|[A-Z]+)\.md$/.test(path);
}

/** The file of the site for a path of the repository, a page, another file or a folder (which ends in a slash). */
export function placeOf(path: string): string {
  if (path === "docs/README.md") return "index.html";
  if (path.endsWith("/")) return `files/${path}index.html`;
  if (!isPage(path)) return `files/${path}.html`;
  const place = path.startsWith("docs/") ? path.slice("docs/".length) : `project/${path}`;
  return place
    .toLowerCase()
    .replace(/readme(?=\.md$)/, "index")
    .replace(/\.md$/, ".html");
}

/** Returns the address of a page, file or folder from the top of the site. */
export function siteAddress(path: string): string {
  return `/${placeOf(path)}`;
}

/** Pages under one title of the navigation. */
export interface Group {
  readonly title: string;
  readonly pages: readonly string[];
}

const rows = rowsIn("tools/docs/navigation.md");

/** Groups all pages but the first one, as navigation.md says. A page that fits nowhere is in no group. */
export function groupsOf(paths: readonly string[]): readonly Group[] {
  const left = paths.filter((path) => isPage(path) && path !== "docs/README.md").toSorted();
  const all = rows.flatMap(([, pages = ""]) => codeWords(pages));
  const placed = Map.groupBy(left, (path) => {
    const fitting = all.filter((start) => path.startsWith(start));
    return fitting.toSorted((one, other) => other.length - one.length)[0];
  });
  return rows.map(([title = "", pages = ""]) => ({
    title,
    pages: codeWords(pages).flatMap((start) => placed.get(start) ?? []),
  }));
}

/** Returns the anchor of a heading as GitHub makes it, so that the same link works there and on the site. The site numbers repeated ones. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}
