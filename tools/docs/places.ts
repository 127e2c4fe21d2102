/** Maps each file of the repository to its place on the site, and orders the pages in the navigation. */

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

const use = ["first-database", "rotate-credentials", "troubleshooting", "gitops", "generations", "kubectl"];
const understand = ["architecture", "rules", "security", "known-limits"];
const operate =
  "install identity-providers add-a-provider offer-an-api add-a-service operating monitoring upgrade backup remove support";

function inDocs(names: readonly string[]): RegExp {
  return new RegExp(`^docs/(?:${names.join("|")})\\.md$`);
}

/** The groups in their order, each with its pages and those of them that come first. A page belongs to the first group that fits. */
const order: readonly (readonly [title: string, pages: RegExp, first: readonly string[]])[] = [
  ["Use", inDocs(use), use],
  ["Install and operate", inDocs([`(?!(?:${understand.join("|")})\\.md$)[^/]+`]), operate.split(" ")],
  ["Services", /^docs\/services\//, []],
  ["Reference", /^docs\/reference\//, ["README", "kinds", "flags", "metrics", "conditions"]],
  ["Understand", inDocs(understand), understand],
  [
    "Project",
    /^[A-Z]+\.md$|^(?:deploy|packages|proof)\//,
    ["README", "CHANGELOG", "CONTRIBUTING", "SECURITY"],
  ],
  ["Designs", /^designs\//, []],
];

/** Groups all pages but the first one; those without a place of their own stand at the end of theirs. */
export function groupsOf(paths: readonly string[]): readonly Group[] {
  const left = paths.filter((path) => isPage(path) && path !== "docs/README.md").toSorted();
  const groups = Map.groupBy(left, (path) => order.find(([, pattern]) => pattern.test(path))?.[0]);
  return order.map(([title, , first]) => {
    const own = groups.get(title) ?? [];
    const rank = (path: string): number => {
      const found = first.findIndex((name) => path.endsWith(`/${name}.md`) || path === `${name}.md`);
      return found < 0 ? first.length : found;
    };
    return { title, pages: own.toSorted((one, other) => rank(one) - rank(other)) };
  });
}

/** Returns the anchor of a heading as GitHub makes it, so that the same link works there and on the site. The site numbers repeated ones. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}
