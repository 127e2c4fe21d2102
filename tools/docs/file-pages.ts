/** Files and folders of the repository that pages link to, as plain pages: no script, no style of their own. */
import { dirname, relative } from "node:path/posix";
import { placeOf } from "./places.ts";

const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Shows the text of one file. */
export function filePage(path: string, text: string): string {
  return frame(path, `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`);
}

/** Lists the files below a folder, whose path ends in a slash. */
export function folderPage(folder: string, paths: readonly string[]): string {
  const inside = paths.filter((path) => path.startsWith(folder)).toSorted();
  const items = inside.map(
    (path) =>
      `<li><a href="${addressFrom(folder, placeOf(path))}">${escapeHtml(path.slice(folder.length))}</a></li>`,
  );
  return frame(folder, `<ul>\n${items.join("\n")}\n</ul>`);
}

function frame(path: string, content: string): string {
  const title = escapeHtml(path);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${title} · Klutch</title>
<style>:root { color-scheme: light dark } body { font: 1rem/1.6 system-ui, sans-serif; margin: 1.5rem } pre { overflow-x: auto; font-size: .9rem }</style>
</head>
<body>
<nav><a href="${addressFrom(path, "index.html")}">Klutch</a></nav>
<main><h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
}

/** Returns the address of a file of the site from the page of a path. */
function addressFrom(path: string, to: string): string {
  return escapeHtml(relative(dirname(placeOf(path)), to));
}

/** Escapes a text for HTML, also within quotes. */
function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
