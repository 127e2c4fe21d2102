/** Builds the packages for npm: clients that are of use without the rest of Klutch, and what they stand on, compiled, with types. */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { klutchVersion } from "@klutch/api";
import { run } from "@klutch/engines";
import { recordAt, textAt } from "@klutch/kube-core";
import { oldestNode } from "../build/commands.ts";
import { repositoryRoot } from "../root.ts";
import { inTemporaryFolder, isDiskFull, replace } from "./disk-full.ts";
import { ReleaseError } from "./errors.ts";
import type { ReleaseOptions } from "./options.ts";

/** Folders below `packages`. The first four are for others to use; the rest is what those need. */
export const npmPackages: readonly string[] =
  "osb backup-manager kube schema kube-core http-client telemetry".split(" ");

/** MiB needed to compile and pack. */
const roomMiB = 20;

/** Version of a release in npm's words: without a `v`. */
const version = klutchVersion.replace(/^v/, "");

/** Builds the archives in a folder `npm` of the release. Throws `ReleaseError` with the compiler's words. The same sources give the same bytes. */
export async function buildNpmPackages({ out, say }: Pick<ReleaseOptions, "out" | "say">): Promise<void> {
  await inTemporaryFolder("npm", roomMiB, async (folder) => {
    const compiled = join(folder, "compiled");
    await compile(folder, compiled);
    for (const name of npmPackages) await assemble(name, join(compiled, name, "src"), join(folder, name));
    await replace(join(out, "npm"), async (target) => {
      await mkdir(target, { recursive: true });
      const folders = npmPackages.map((name) => join(folder, name));
      const pack = ["pack", ...folders, "--silent", "--pack-destination", target];
      const { stdout } = await run("npm", pack, { cwd: folder });
      for (const file of stdout.trim().split("\n")) say(`npm/${file}`);
    });
  });
}

/** Compiles what the packages' entries lead to, and nothing of tests. */
async function compile(folder: string, outDir: string): Promise<void> {
  const packages = join(repositoryRoot, "packages");
  const entries = Object.fromEntries(
    npmPackages.map((name) => [`@klutch/${name}`, [join(packages, name, "src", "index.ts")]]),
  );
  const config = {
    extends: join(repositoryRoot, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      rootDir: packages,
      outDir,
      rewriteRelativeImportExtensions: true,
      typeRoots: [join(repositoryRoot, "node_modules", "@types")],
      // The compiler takes a package found through node_modules for a library and writes nothing of it. It reads files side by side, so without this
      // it is chance which of ours it takes for one.
      paths: entries,
    },
    files: Object.values(entries).flat(),
    include: [],
  };
  const path = join(folder, "tsconfig.json");
  await writeFile(path, JSON.stringify(config));
  const tsc = join(repositoryRoot, "node_modules", "typescript", "bin", "tsc");
  try {
    await run(process.execPath, [tsc, "--project", path]);
  } catch (cause) {
    if (isDiskFull(cause)) throw cause;
    throw new ReleaseError(`the npm packages do not compile:\n${textAt(cause, "stdout")}`, { cause });
  }
}

async function assemble(name: string, compiled: string, folder: string): Promise<void> {
  const source = join(repositoryRoot, "packages", name);
  const manifest: unknown = JSON.parse(await readFile(join(source, "package.json"), "utf8"));
  await mkdir(folder);
  await cp(compiled, join(folder, "dist"), { recursive: true });
  await cp(join(source, "README.md"), join(folder, "README.md"));
  await cp(join(repositoryRoot, "LICENSE"), join(folder, "LICENSE"));
  await writeFile(
    join(folder, "package.json"),
    `${JSON.stringify(publishedManifest(manifest), undefined, 2)}\n`,
  );
}

/** Returns what npm is told of a package of the workspace. */
function publishedManifest(manifest: unknown): object {
  const dependencies = Object.entries(recordAt(manifest, "dependencies")).map(
    ([name, wanted]) => [name, name.startsWith("@klutch/") ? version : wanted] as const,
  );
  return {
    name: textAt(manifest, "name"),
    version,
    description: textAt(manifest, "description"),
    license: textAt(manifest, "license"),
    type: "module",
    engines: { node: `>=${oldestNode}` },
    sideEffects: false,
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
    files: ["dist"],
    dependencies: Object.fromEntries(dependencies),
  };
}
