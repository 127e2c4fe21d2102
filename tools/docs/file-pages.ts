/** Files and folders of the repository that pages link to, as plain pages: no script, no style of their own. */
import { dirname, relative } from "node:path/posix";
import { filled } from "../generate/page.ts";
import { placeOf } from "./places.ts";

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
  return filled("tools/docs/file-page.html", {
    TITLE: escapeHtml(path),
    HOME: addressFrom(path, "index.html"),
    CONTENT: content,
  });
}

/** Returns the address of a file of the site from the page of a path. */
function addressFrom(path: string, to: string): string {
  return escapeHtml(relative(dirname(placeOf(path)), to));
}

/** Escapes a text for HTML, also within quotes. */
function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
