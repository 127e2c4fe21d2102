/** The frame of a page of the site: head, navigation, contents. No script, and a policy that forbids every one. */
import { escapeHtml, type Heading } from "./markdown.ts";

/** A link of the navigation. */
export interface NavigationLink {
  readonly title: string;
  readonly address: string;
  readonly isHere: boolean;
}

/** What a page is made of. */
export interface PageParts {
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly navigation: readonly { readonly title: string; readonly links: readonly NavigationLink[] }[];
  /** Addresses from this page. */
  readonly home: string;
  readonly style: string;
  /** Such as `v1.6.0`. */
  readonly version: string;
}

const policy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'";

/** The whole document. */
export function documentOf({ title, html, headings, navigation, home, style, version }: PageParts): string {
  const here = title === "Klutch" ? title : `${title} · Klutch`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(here)}</title>
<link rel="stylesheet" href="${escapeHtml(style)}">
</head>
<body>
<a class="skip" href="#content">To the text</a>
<header><a class="home" href="${escapeHtml(home)}">Klutch</a> <span class="version">${escapeHtml(version)}</span></header>
<div class="frame">
${navigationOf(navigation)}
<main id="content">
${contentsOf(headings)}<article>
${html}</article>
</main>
</div>
</body>
</html>
`;
}

/** Every group can be closed without a script; the one with this page is open. On a phone the whole is behind a button. */
function navigationOf(groups: PageParts["navigation"]): string {
  const parts = groups.map(({ title, links }) => {
    const items = links.map(({ title: text, address, isHere }) => {
      const current = isHere ? ' aria-current="page"' : "";
      return `<li><a href="${escapeHtml(address)}"${current}>${escapeHtml(text)}</a></li>`;
    });
    const isOpen = links.some(({ isHere }) => isHere) || links.length < 12;
    return `<details${isOpen ? " open" : ""}><summary>${escapeHtml(title)}</summary><ul>${items.join("")}</ul></details>`;
  });
  return `<nav aria-label="Pages"><input class="switch" type="checkbox" id="menu"><label for="menu">All pages</label><div class="groups">
${parts.join("\n")}
</div></nav>`;
}

/** Of long pages. */
function contentsOf(headings: readonly Heading[]): string {
  const parts = headings.filter(({ depth }) => depth === 2);
  if (parts.length < 3) return "";
  const items = parts.map(
    ({ text, anchor }) => `<li><a href="#${escapeHtml(anchor)}">${escapeHtml(text)}</a></li>`,
  );
  return `<aside aria-label="On this page"><input class="switch" type="checkbox" id="parts"><label for="parts">On this page</label><p>On this page</p><ul>${items.join("")}</ul></aside>\n`;
}
