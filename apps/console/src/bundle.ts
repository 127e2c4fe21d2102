/** Makes the folder that the backend serves as the console: index.html, one script and one style sheet, named by the hash of their content. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const sources = fileURLToPath(new URL("browser", import.meta.url));
const own = fileURLToPath(new URL("../node_modules", import.meta.url));
const repositoryRoot = fileURLToPath(new URL("../../..", import.meta.url));

/** Writes the folder and gives back the files that are in the bundle, below the root. Takes well below a second. */
export async function buildConsole(folder: string): Promise<readonly string[]> {
  await rm(folder, { recursive: true, force: true });
  const assets = join(folder, "assets");
  await mkdir(assets, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: repositoryRoot,
    metafile: true,
    entryPoints: [join(sources, "main.tsx"), join(sources, "console.css")],
    entryNames: "[name]-[hash]",
    outdir: assets,
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2023",
    jsx: "automatic",
    // The documentation's site brings an older React to the root of node_modules, where react-aria would find it.
    alias: { react: join(own, "react"), "react-dom": join(own, "react-dom") },
    minify: true,
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  });
  const names = Object.keys(metafile.outputs).map((path) => basename(path));
  const nameOf = (ending: string): string => {
    const name = names.find((each) => each.endsWith(ending));
    if (name === undefined) throw new Error(`esbuild wrote no ${ending} for the console`);
    return `assets/${name}`;
  };
  const index = await readFile(join(sources, "index.html"), "utf8");
  const page = index.replace("__STYLE__", nameOf(".css")).replace("__SCRIPT__", nameOf(".js"));
  await writeFile(join(folder, "index.html"), page);
  return Object.keys(metafile.inputs);
}
