/** Where each file of the repository is on the site, and in which order the pages stand in the navigation. */
import { dirname, join, relative } from "node:path/posix";

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

/** Returns the address of one file of the site from another. */
export function addressFrom(from: string, to: string): string {
  return relative(dirname(from), to);
}

/** Returns the path in the repository that a link of a page means. */
export function targetOf(from: string, href: string): string {
  return join(dirname(from), href).replace(/\/$/, "");
}

/** Pages under one title of the navigation. */
export interface Group {
  readonly title: string;
  readonly pages: readonly string[];
}

const order: readonly (readonly [title: string, pages: RegExp, first: readonly string[]])[] = [
  [
    "Use",
    /^docs\/(?:first-database|rotate-credentials|gitops|generations|kubectl|troubleshooting)\.md$/,
    ["first-database", "rotate-credentials", "troubleshooting", "gitops", "generations", "kubectl"],
  ],
  ["Services", /^docs\/services\//, []],
  ["Reference", /^docs\/reference\//, ["README", "kinds", "flags", "metrics", "conditions"]],
  [
    "Understand",
    /^docs\/(?:architecture|rules|security|known-limits)\.md$/,
    ["architecture", "rules", "security", "known-limits"],
  ],
  ["Designs", /^designs\//, []],
  [
    "Project",
    /^[A-Z]+\.md$|^(?:deploy|packages|proof)\//,
    ["README", "CHANGELOG", "CONTRIBUTING", "SECURITY"],
  ],
  // The rest of docs.
  [
    "Install and operate",
    /^docs\/[^/]+\.md$/,
    [
      "install",
      "identity-providers",
      "add-a-provider",
      "offer-an-api",
      "add-a-service",
      "operating",
      "monitoring",
      "upgrade",
      "backup",
      "remove",
      "support",
    ],
  ],
];
const shown = ["Use", "Install and operate", "Services", "Reference", "Understand", "Project", "Designs"];

/** All pages but the first one, each in one group; those without a place of their own stand at the end of theirs. */
export function groupsOf(paths: readonly string[]): readonly Group[] {
  const left = new Set(paths.filter((path) => isPage(path) && path !== "docs/README.md"));
  const groups = order.map(([title, pattern, first]) => {
    const own = [...left].filter((path) => pattern.test(path)).toSorted();
    for (const path of own) left.delete(path);
    const rank = (path: string): number => {
      const found = first.findIndex((name) => path.endsWith(`/${name}.md`) || path === `${name}.md`);
      return found < 0 ? first.length : found;
    };
    return { title, pages: own.toSorted((one, other) => rank(one) - rank(other)) };
  });
  return shown.flatMap((title) => groups.filter((group) => group.title === title));
}
