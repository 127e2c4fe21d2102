/** Serves the pages' files from memory: all of them are read at the start, and a path is only ever looked up in that list. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";

/** One file of the pages. */
export interface Asset {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly etag: string;
}

/** The files of a folder. */
export interface Assets {
  /** The page, with `__CSP_NONCE__` where each answer puts its nonce. */
  readonly page: string;
  /** The others by their paths below the folder, such as `assets/index-1a2b.js`. */
  readonly files: ReadonlyMap<string, Asset>;
}

const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".txt": "text/plain; charset=utf-8",
};
const [mostFiles, mostBytes] = [500, 32 * 1024 * 1024];

/** Reads the folder. Rejects with an `Error` that says why it holds no pages. */
export async function readAssets(folder: string): Promise<Assets> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  if (paths.length > mostFiles) throw new Error(`it has more than ${mostFiles} files`);
  const files = new Map<string, Asset>();
  let page: string | undefined;
  let bytes = 0;
  for (const path of paths) {
    const name = relative(folder, path).split(sep).join("/");
    const type = types[extname(name)];
    const body = new Uint8Array(await readFile(path));
    bytes += body.length;
    if (bytes > mostBytes) throw new Error(`its files have more than ${mostBytes} bytes`);
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    if (name === "index.html") page = new TextDecoder().decode(body);
    else if (type !== undefined) files.set(name, { body, type, etag });
  }
  if (page === undefined) throw new Error("it has no index.html");
  return { page, files };
}
