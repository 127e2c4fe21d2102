/**
 * The rules that pages obey beyond VitePress' own. Raw HTML and template expressions are shown as the text that they are, images become their
 * description, and a link leads where `resolve` says or nowhere, so nothing in a page can run or load anything.
 */
import type { MarkdownOptions, MarkdownRenderer } from "vitepress";
import { anchorOf } from "./places.ts";

/** Target of a link: an address of the site or of the web. `isFile` marks a target that is no page, which the browser has to load itself. */
export interface LinkTarget {
  readonly address: string;
  readonly isFile: boolean;
}

/** Finds the target of a link on the page with this path in the repository; undefined: its text stands alone. */
export type ResolveLink = (from: string, href: string) => LinkTarget | undefined;

/** Environment that VitePress passes along with a page; `pageOf` finds the page's path in it. */
type Environment = Readonly<Record<string, unknown>>;

/** Options of VitePress' renderer with these rules. `pageOf` tells which page is being rendered. */
export function markdownOptions(
  resolve: ResolveLink,
  pageOf: (environment: Environment) => string,
  base: string,
): MarkdownOptions {
  return {
    html: false,
    // An address in a text is an example more often than a link.
    linkify: false,
    attrs: { disable: true },
    anchor: { slugify: anchorOf },
    config: (markdown) => {
      markdown.disable(["emoji", "snippet"]);
      hideComments(markdown);
      keepLanguages(markdown);
      replaceLinks(markdown, (href, environment) => resolve(pageOf(environment), href), base);
      const { escapeHtml } = markdown.utils;
      const shown = (text: string): string => escapeHtml(text).replaceAll("{", "&#123;");
      markdown.renderer.rules["text"] = (tokens, index) => shown(tokens[index]?.content ?? "");
      markdown.renderer.rules["image"] = (tokens, index) => shown(tokens[index]?.content ?? "");
      markdown.renderer.rules["code_inline"] = (tokens, index) =>
        `<code v-pre>${escapeHtml(tokens[index]?.content ?? "")}</code>`;
      markdown.renderer.rules["code_block"] = (tokens, index) =>
        `<pre v-pre tabindex="0"><code>${escapeHtml(tokens[index]?.content ?? "")}</code></pre>\n`;
    },
  };
}

/** Leaves out comments that stand alone; they are for readers of the source. */
function hideComments(markdown: MarkdownRenderer): void {
  markdown.block.ruler.before("paragraph", "comment", (state, startLine, endLine, silent) => {
    const lineAt = (line: number): string =>
      state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]);
    if (!lineAt(startLine).startsWith("<!--")) return false;
    let line = startLine;
    while (line < endLine && !/-->\s*$/.test(lineAt(line))) line += 1;
    if (line === endLine) return false;
    if (!silent) state.line = line + 1;
    return true;
  });
}

/** Takes everything but the language from the head of a block of code, because VitePress writes it into tags as it is. */
function keepLanguages(markdown: MarkdownRenderer): void {
  markdown.core.ruler.after("block", "languages", (state) => {
    for (const token of state.tokens)
      if (token.type === "fence") token.info = /^[\w+-]*/.exec(token.info.trim())?.[0] ?? "";
  });
}

/** Gives every link its target, or takes the link away and leaves its text. Every address is asked for, however dangerous it looks. */
function replaceLinks(
  markdown: MarkdownRenderer,
  resolve: (href: string, environment: Environment) => LinkTarget | undefined,
  base: string,
): void {
  markdown.validateLink = () => true;
  markdown.core.ruler.after("inline", "targets", (state) => {
    for (const block of state.tokens) {
      const open: boolean[] = [];
      block.children =
        block.children?.filter((token) => {
          if (token.type === "link_close") return open.pop();
          if (token.type !== "link_open") return true;
          const target = resolve(token.attrGet("href") ?? "", state.env as Environment);
          open.push(target !== undefined);
          if (target === undefined) return false;
          token.attrSet("href", target.isFile ? base + target.address.slice(1) : target.address);
          if (target.isFile) token.attrSet("target", "_self");
          return true;
        }) ?? null;
    }
  });
}
