/** Follows the links of pages through the repository, and collects those that lead nowhere. */
import { dirname, join } from "node:path/posix";
import { hasPath } from "../checks/tree.ts";
import { isPage, siteAddress } from "./places.ts";
import type { LinkTarget } from "./markdown.ts";

/** A link to a heading, which can be judged when all pages were read. */
interface AnchorLink {
  readonly from: string;
  readonly href: string;
  readonly page: string;
  readonly anchor: string;
}

/** Resolves links of pages. It remembers problems, links to headings, and the files and folders that the site has to show. */
export class Links {
  readonly #paths: ReadonlySet<string>;
  readonly #problems: string[] = [];
  readonly #anchors: AnchorLink[] = [];
  readonly #linked = new Set<string>();

  constructor(paths: ReadonlySet<string>) {
    this.#paths = paths;
  }

  /** Files that pages link to and that are no pages, and folders, which end in a slash. */
  get linked(): ReadonlySet<string> {
    return this.#linked;
  }

  /** Addresses of the web stay as they are; all others must be files or folders of the repository. */
  resolve(from: string, href: string): LinkTarget | undefined {
    if (/^https?:\/\/[^\s]+$/.test(href)) return { address: href, isFile: false };
    const [, file = "", anchor] = /^([^#]*)(?:#(.*))?$/.exec(decoded(href)) ?? [];
    const target = file === "" ? from : join(dirname(from), file).replace(/\/$/, "");
    if (!hasPath(this.#paths, target)) {
      this.#problems.push(`${from}: ${href} leads to nothing`);
      return undefined;
    }
    const path = this.#paths.has(target) ? target : `${target}/`;
    const isFile = !isPage(path);
    if (isFile) this.#linked.add(path);
    if (anchor !== undefined) this.#anchors.push({ from, href, page: path, anchor });
    return { address: siteAddress(path) + (anchor === undefined ? "" : `#${anchor}`), isFile };
  }

  /** Every link that leads nowhere, with the page that has it. `headings` are the anchors of each page. */
  problems(headings: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
    const missing = this.#anchors.filter(({ page, anchor }) => headings.get(page)?.has(anchor) !== true);
    return [...this.#problems, ...missing.map(({ from, href }) => `${from}: ${href} leads to no heading`)];
  }
}

/** Addresses arrive percent-encoded from the Markdown parser; one that cannot be decoded names no file of ours. */
function decoded(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}
