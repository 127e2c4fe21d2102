/** Files and folders of the repository that pages link to, as plain pages: no script, no style of their own. */
import { addressFrom, placeOf } from "./places.ts";

const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Shows the text of one file. */
export function filePage(path: string, text: string): string {
  return frame(path, `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`);
}

/** Lists the files below a folder, whose path ends in a slash. */
export function folderPage(folder: string, paths: readonly string[]): string {
  const items = paths
    .filter((path) => path.startsWith(folder))
    .toSorted()
    .map((path) => {
      const address = escapeHtml(addressFrom(placeOf(folder), placeOf(path)));
      return `<li><a href="${address}">${escapeHtml(path.slice(folder.length))}</a></li>`;
    });
  return frame(folder, `<ul>\n${items.join("\n")}\n</ul>`);
}

function frame(path: string, content: string): string {
  const title = escapeHtml(path);
  const home = escapeHtml(addressFrom(placeOf(path), "index.html"));
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
<nav><a href="${home}">Klutch</a></nav>
<main><h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
}

/** Escapes a text for HTML, also within quotes. */
function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
