/**
 * Markdown of a page to HTML. Raw HTML is shown as the text that it is, and a link leads where `resolve` says or nowhere, so nothing in a page
 * can run or load anything.
 */
import { Marked, type Tokens } from "marked";
import { anchors } from "./anchors.ts";

/** A heading of a page. */
export interface Heading {
  readonly depth: number;
  /** As text, without marks. */
  readonly text: string;
  readonly anchor: string;
}

/** What a page becomes. */
export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** Where a link of the page leads; undefined: it is no link, and its text stands alone. */
export type ResolveLink = (href: string) => string | undefined;

/** Renders; never throws for what stands in a page. */
export function renderMarkdown(markdown: string, resolve: ResolveLink): Rendered {
  const headings: Heading[] = [];
  const anchorFor = anchors();
  const marked = new Marked({ gfm: true, async: false });
  marked.use({
    // An address in a text is an example more often than a link.
    tokenizer: { url: () => undefined },
    renderer: {
      // A comment is for whoever reads the source.
      html: ({ text }: Tokens.HTML | Tokens.Tag) => (/^<!--[^]*-->\s*$/.test(text) ? "" : escapeHtml(text)),
      image: ({ text }: Tokens.Image) => escapeHtml(text),
      checkbox: ({ checked }: Tokens.Checkbox) => (checked ? "☑ " : "☐ "),
      heading({ tokens, depth }: Tokens.Heading) {
        const html = this.parser.parseInline(tokens);
        const text = this.parser.parseInline(tokens, this.parser.textRenderer);
        const anchor = anchorFor(unescapeHtml(text));
        headings.push({ depth, text: unescapeHtml(text), anchor });
        return `<h${depth} id="${escapeHtml(anchor)}"><a href="#${escapeHtml(anchor)}">${html}</a></h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const html = this.parser.parseInline(tokens);
        const target = resolve(href);
        if (target === undefined) return html;
        const foreign = /^https?:/.test(target) ? ' rel="noreferrer"' : "";
        return `<a href="${escapeHtml(target)}"${foreign}>${html}</a>`;
      },
      code: ({ text }: Tokens.Code) => `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`,
      table({ header, rows }: Tokens.Table) {
        const htmlOf = ({ tokens }: Tokens.TableCell): string => this.parser.parseInline(tokens);
        const heads = header.map((cell) => `<th>${htmlOf(cell)}</th>`).join("");
        // On a phone each cell stands alone, with the title of its column.
        const labels = header.map((cell) =>
          unescapeHtml(this.parser.parseInline(cell.tokens, this.parser.textRenderer)),
        );
        const body = rows.map((cells) => {
          const row = cells.map(
            (cell, index) => `<td data-label="${escapeHtml(labels[index] ?? "")}">${htmlOf(cell)}</td>`,
          );
          return `<tr>${row.join("")}</tr>\n`;
        });
        return `<div class="table" tabindex="0"><table><thead><tr>${heads}</tr></thead>\n<tbody>${body.join("")}</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(markdown, { async: false });
  return { html, headings };
}

/** For text and for attributes in quotes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** The renderer of plain text escapes what a heading's anchor has to see. */
function unescapeHtml(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}
