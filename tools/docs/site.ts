/** The configuration of the web site: which pages it has, where each is, and what its links lead to. */
import { hash } from "node:crypto";
import { globSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { klutchVersion } from "@klutch/api";
import { createMarkdownRenderer, disposeMdItInstance, type DefaultTheme, type UserConfig } from "vitepress";
import { openTree, type Tree } from "../checks/tree.ts";
import { repositoryRoot } from "../root.ts";
import { filePage, folderPage } from "./file-pages.ts";
import { Links } from "./links.ts";
import { markdownOptions } from "./markdown.ts";
import { groupsOf, isPage, placeOf, siteAddress } from "./places.ts";

/** The repository as the site reads it. */
export type SiteSource = Pick<Tree, "paths" | "text">;

/** Folder of VitePress' own files; its parent is what `build` and `serve` of VitePress take. */
export const siteRoot: string = join(repositoryRoot, "tools", "docs");

/**
 * Configures VitePress for the pages of this repository, which stay where they are. The path of the site's address (with a slash at both ends), the
 * folder to build it in, and other versions with the addresses of their sites (`v1.5.0=https://…`, newest first) come from the environment, which
 * `tools/docs/main.ts` sets before VitePress loads its configuration.
 */
export function repositorySite(): UserConfig<DefaultTheme.Config> {
  const {
    KLUTCH_SITE_BASE: base = "/",
    KLUTCH_SITE_EARLIER: earlier = "",
    KLUTCH_SITE_OUT: folder = join(repositoryRoot, "dist", "site"),
  } = process.env;
  const source = openTree();
  const pages = [...source.paths].filter(isPage);
  const links = new Links(source.paths);
  return {
    title: "Klutch",
    description: "Databases for app clusters, made by one control plane",
    // No icon, so that browsers ask for none.
    head: [["link", { rel: "icon", href: "data:," }]],
    titleTemplate: ":title · Klutch",
    base,
    srcDir: repositoryRoot,
    srcExclude: otherMarkdown(new Set(pages)),
    outDir: folder,
    cacheDir: join(repositoryRoot, "node_modules", ".cache", "site"),
    rewrites: (path) => placeOf(path).replace(/\.html$/, ".md"),
    metaChunk: true,
    vite: { build: { chunkSizeWarningLimit: 2000 } },
    markdown: markdownOptions((from, href) => links.resolve(from, href), sourcePage, base),
    themeConfig: themeConfig(source, pages, earlier.match(/\S+/g) ?? []),
    transformPageData: (page) => ({ ...page, frontmatter: {} }),
    transformHtml: withPolicy,
    buildEnd: ({ outDir }) => writeFiles(source, links.linked, outDir),
  };
}

/** Renders every page once, and names the links that lead nowhere. */
export async function brokenLinks(source: SiteSource): Promise<readonly string[]> {
  const { links, headings } = await renderPages(source);
  return links.problems(headings);
}

/** Renders every page as the site does, without its frame. */
export async function renderPages(source: SiteSource): Promise<{
  readonly html: ReadonlyMap<string, string>;
  readonly links: Links;
  readonly headings: ReadonlyMap<string, ReadonlySet<string>>;
}> {
  const links = new Links(source.paths);
  const options = markdownOptions((from, href) => links.resolve(from, href), sourcePage, "/");
  // VitePress keeps one renderer for the process, with the options of the first that asked.
  disposeMdItInstance();
  const markdown = await createMarkdownRenderer(repositoryRoot, options);
  const html = new Map<string, string>();
  const headings = new Map<string, ReadonlySet<string>>();
  for (const path of [...source.paths].filter(isPage)) {
    const environment = { path: join(repositoryRoot, path) };
    html.set(path, markdown.render(source.text(path), environment));
    const ids = (html.get(path) ?? "").matchAll(/<h\d id="([^"]*)"/g);
    headings.set(path, new Set([...ids].map(([, id = ""]) => id)));
  }
  disposeMdItInstance();
  return { html, links, headings };
}

/** VitePress names a page by its file, or, where it is moved on the site, by `realPath`. */
function sourcePage({ path, realPath }: Readonly<Record<string, unknown>>): string {
  return relative(repositoryRoot, typeof realPath === "string" ? realPath : String(path));
}

function otherMarkdown(pages: ReadonlySet<string>): string[] {
  const skipped = (path: string): boolean => /(?:^|\/)(?:node_modules|dist|\.git)$/.test(path);
  const all = globSync("**/*.md", { cwd: repositoryRoot, exclude: skipped });
  return all.filter((path) => !pages.has(path));
}

function themeConfig(
  source: SiteSource,
  pages: readonly string[],
  earlier: readonly string[],
): DefaultTheme.Config {
  const sidebar = groupsOf(pages).map(({ title, pages: own }) => ({
    text: title,
    items: own.map((path) => ({ text: titleOf(source.text(path), path), link: siteAddress(path) })),
  }));
  const version = `v${klutchVersion.replace(/^v/, "")}`;
  const versions = earlier.map((one) => {
    const [text = "", link = ""] = one.split("=");
    return { text, link, target: "_self", noIcon: true };
  });
  return {
    nav: [
      { text: "Install", link: siteAddress("docs/install.md") },
      { text: "Reference", link: siteAddress("docs/reference/README.md") },
      {
        text: version,
        items: [{ text: "Changelog", link: siteAddress("CHANGELOG.md") }, ...versions],
      },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: "local", options: { detailedView: true } },
  };
}

/** Returns the text of the page's first heading, without marks. */
function titleOf(markdown: string, path: string): string {
  const heading = /^# (.+)$/m.exec(markdown)?.[1];
  return heading === undefined ? path : heading.replaceAll(/[`*]/g, "");
}

const policyOfOthers =
  "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

/** Forbids everything but the site's own files and the scripts that VitePress put into this page. */
function withPolicy(html: string): string {
  const inline = [...html.matchAll(/<script[^>]*>([^]+?)<\/script>/g)].map(
    ([, script = ""]) => `'sha256-${hash("sha256", script, "base64")}'`,
  );
  const policy = `default-src 'none'; script-src 'self' ${inline.join(" ")}; ${policyOfOthers}`;
  const meta = `<meta http-equiv="Content-Security-Policy" content="${policy}"><meta name="referrer" content="no-referrer">`;
  return html.replace("<head>", `<head>\n    ${meta}`);
}

async function writeFiles(source: SiteSource, linked: ReadonlySet<string>, folder: string): Promise<void> {
  const all = [...source.paths];
  const inFolders = all.filter((path) =>
    [...linked].some((one) => one.endsWith("/") && path.startsWith(one)),
  );
  for (const path of new Set([...linked, ...inFolders.filter((one) => !isPage(one))])) {
    const place = join(folder, placeOf(path));
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, path.endsWith("/") ? folderPage(path, all) : filePage(path, source.text(path)));
  }
}
