/** The site: every page of the repository, and what pages link to, as HTML files. */
import { klutchVersion } from "@klutch/api";
import { documentOf, type PageParts } from "./layout.ts";
import { escapeHtml, renderMarkdown, type Rendered } from "./markdown.ts";
import { addressFrom, groupsOf, isPage, placeOf, targetOf } from "./places.ts";
import { styleSheet } from "./style.ts";

/** What the site is made of. */
export interface SiteSource {
  /** Every file of the repository. */
  readonly paths: ReadonlySet<string>;
  readonly text: (path: string) => string;
}

/** The files of the site by their places, and what is wrong with the pages. */
export interface Site {
  readonly files: ReadonlyMap<string, string>;
  /** Each names the page and the link. */
  readonly problems: readonly string[];
}

const style = "style.css";

/** Builds it in memory. A link to nowhere, or to what is no page and no address of the web, is a problem. */
export function buildSite(source: SiteSource): Site {
  const builder = new SiteBuilder(source);
  builder.addPages();
  return builder.finish();
}

class SiteBuilder {
  readonly #source: SiteSource;
  readonly #files = new Map<string, string>([[style, styleSheet.trimStart()]]);
  readonly #problems: string[] = [];
  readonly #titles: ReadonlyMap<string, string>;
  readonly #groups: ReturnType<typeof groupsOf>;
  /** Files and folders that a page links to and that were not made yet. */
  readonly #wanted: string[] = [];
  /** Anchors that are linked, with the page that does it. */
  readonly #anchors: {
    readonly from: string;
    readonly href: string;
    readonly page: string;
    readonly anchor: string;
  }[] = [];
  readonly #rendered = new Map<string, Rendered>();

  constructor(source: SiteSource) {
    this.#source = source;
    const pages = [...source.paths].filter(isPage);
    this.#titles = new Map(pages.map((path) => [path, titleOf(source.text(path), path)]));
    this.#groups = groupsOf(pages);
  }

  addPages(): void {
    for (const [path, title] of this.#titles) {
      const rendered = renderMarkdown(this.#source.text(path), (href) => this.#resolve(path, href));
      this.#rendered.set(path, rendered);
      this.#write(path, placeOf(path), { title, ...rendered });
    }
    for (let path = this.#wanted.pop(); path !== undefined; path = this.#wanted.pop()) this.#addFile(path);
  }

  finish(): Site {
    for (const { from, href, page, anchor } of this.#anchors) {
      const found = this.#rendered.get(page)?.headings.some((heading) => heading.anchor === anchor);
      if (found !== true) this.#problems.push(`${from}: ${href} leads to no heading`);
    }
    return { files: this.#files, problems: this.#problems };
  }

  /** What a page links to and is none: shown as it is. A folder: its files. */
  #addFile(path: string): void {
    const place = placeOf(path);
    if (this.#files.has(place)) return;
    if (!path.endsWith("/")) {
      const html = `<h1>${escapeHtml(path)}</h1>\n<pre tabindex="0"><code>${escapeHtml(this.#source.text(path))}</code></pre>\n`;
      this.#write(path, place, { title: path, html, headings: [] });
      return;
    }
    const children = [...this.#source.paths].filter((one) => one.startsWith(path)).toSorted();
    const items = children.map((child) => {
      if (!isPage(child)) this.#wanted.push(child);
      const address = addressFrom(place, placeOf(child));
      return `<li><a href="${escapeHtml(address)}">${escapeHtml(this.#titles.get(child) ?? child.slice(path.length))}</a></li>`;
    });
    const html = `<h1>${escapeHtml(path)}</h1>\n<ul>${items.join("\n")}</ul>\n`;
    this.#write(path, place, { title: path, html, headings: [] });
  }

  #write(path: string, place: string, page: Pick<PageParts, "title" | "html" | "headings">): void {
    const navigation = this.#groups.map(({ title, pages }) => ({
      title,
      links: pages.map((one) => ({
        title: this.#titles.get(one) ?? one,
        address: addressFrom(place, placeOf(one)),
        isHere: one === path,
      })),
    }));
    const [home, sheet] = [addressFrom(place, "index.html"), addressFrom(place, style)];
    this.#files.set(place, documentOf({ ...page, navigation, home, style: sheet, version: klutchVersion }));
  }

  /** Addresses of the web stay; all others are files of the repository. */
  #resolve(from: string, href: string): string | undefined {
    if (/^https?:\/\/[^\s]+$/.test(href)) return href;
    const [, file = "", anchor] = /^([^#]*)(?:#(.*))?$/.exec(href) ?? [];
    const target = file === "" ? from : targetOf(from, file);
    const path = this.#existing(target);
    if (path === undefined) {
      this.#problems.push(`${from}: ${href} leads to nothing`);
      return undefined;
    }
    if (!isPage(path)) this.#wanted.push(path);
    if (anchor !== undefined) this.#anchors.push({ from, href, page: path, anchor });
    const address = path === from ? "" : addressFrom(placeOf(from), placeOf(path));
    return anchor === undefined ? address : `${address}#${anchor}`;
  }

  /** The file, or the folder with a slash behind it; undefined when there is neither. */
  #existing(target: string): string | undefined {
    if (this.#source.paths.has(target)) return target;
    return [...this.#source.paths].some((path) => path.startsWith(`${target}/`)) ? `${target}/` : undefined;
  }
}

/** Of its first heading, without marks. */
function titleOf(markdown: string, path: string): string {
  const heading = /^# (.+)$/m.exec(markdown)?.[1];
  return heading === undefined ? path : heading.replaceAll(/[`*]/g, "");
}
