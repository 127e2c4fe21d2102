/** OpenSearch with its security plugin, of jars in Maven's repository. Needs Maven and a JDK. */
import { createHash } from "node:crypto";
import { cp, glob, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { reachableFolder } from "./data-home.ts";
import { cacheFolder, EngineError, run } from "./environment.ts";
import { makeWhole } from "./file-lock.ts";
import { requireDigest } from "./kept-files.ts";
import { preparing } from "./prepare.ts";
import type { ObtainOptions } from "./resolve.ts";

/** Version of the server; `pins/opensearch/pom.xml` names the jars. */
export const opensearchVersion = "2.19.4";
const pins = join(import.meta.dirname, "..", "pins", "opensearch");
const mainClass = "KlutchSearch";
const leastJava = 17;
/** Java 24 removed the security manager, which this version asks for. */
const mostJava = 23;
const prepare = preparing(`opensearch ${opensearchVersion}`);

/** The command that runs it. */
export interface OpensearchProgram {
  readonly java: string;
  /** Ends the options of Java; the folder with `config/opensearch.yml` follows. */
  readonly args: readonly string[];
}

/** Explains why this machine cannot run it; undefined when it can. */
export async function opensearchObstacle(java: string = "java"): Promise<string | undefined> {
  const answer = await run(java, ["-version"]).catch(() => undefined);
  const [, version = "none"] = /version "(\d+)/.exec(answer?.stderr ?? "") ?? [];
  if (Number(version) >= leastJava && Number(version) <= mostJava) return undefined;
  return `OpenSearch ${opensearchVersion} needs Java ${leastJava} to ${mostJava}, and this machine has ${version}; install the Debian packages openjdk-17-jdk-headless and maven`;
}

/** Returns the program, fetched once into the cache, where the user that servers run as can read it. Throws `EngineError`. */
export async function resolveOpensearch(options: ObtainOptions = {}): Promise<OpensearchProgram> {
  const obstacle = await opensearchObstacle();
  if (obstacle !== undefined) throw new EngineError("PackageMissing", obstacle);
  const inCache = join(options.cacheFolder ?? cacheFolder, "opensearch");
  const target = join(await reachableFolder(inCache, "opensearch"), await cacheKey());
  await makeWhole([target], { ...options, lock: `${target}.mutex` }, async (partials) => {
    const [partial = ""] = partials.values();
    options.progress?.(
      `opensearch ${opensearchVersion}: fetching 90 MB and compiling it (a minute or two) …`,
    );
    await fetchJars(partial);
    await mkdir(join(partial, "main"));
    const classPath = `${join(partial, "jars")}/*`;
    await prepare("the JDK", "javac", [
      "-cp",
      classPath,
      "-d",
      join(partial, "main"),
      join(pins, `${mainClass}.java`),
    ]);
  });
  return { java: "java", args: ["-cp", `${join(target, "jars")}/*:${join(target, "main")}`, mainClass] };
}

/** Changes with every pinned file and with the program. */
async function cacheKey(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of ["sha256sums", `${mainClass}.java`]) hash.update(await readFile(join(pins, name)));
  return `${opensearchVersion}-${hash.digest("hex").slice(0, 12)}`;
}

/** Fills `jars` with the pinned files and those of the plugin's archive. */
async function fetchJars(folder: string): Promise<void> {
  const jars = join(folder, "jars");
  const pom = join(folder, "pom.xml");
  // Maven may write beside it.
  await cp(join(pins, "pom.xml"), pom);
  await prepare("Maven", "mvn", [
    "--quiet",
    "--batch-mode",
    "--file",
    pom,
    "dependency:copy-dependencies",
    `-DoutputDirectory=${jars}`,
    "-DincludeScope=runtime",
  ]);
  await requirePinned(jars, await readFile(join(pins, "sha256sums"), "utf8"));
  for (const archive of await Array.fromAsync(glob("*.zip", { cwd: jars }))) {
    await prepare("the JDK", "jar", ["--extract", "--file", join(jars, archive)], jars);
    await rm(join(jars, archive));
  }
}

/** Throws unless the folder holds the files of this list, as of `sha256sum`, and no other. */
export async function requirePinned(folder: string, sums: string): Promise<void> {
  const pinned = new Map(
    [...sums.matchAll(/^([0-9a-f]{64}) {2}(\S+)$/gm)].map(([, hex = "", name = ""]) => [name, hex]),
  );
  for (const [name, hex] of pinned)
    await requireDigest(join(folder, name), { algorithm: "sha256", hex }, "is pinned");
  const other = (await readdir(folder)).find((name) => !pinned.has(name));
  if (other === undefined) return;
  throw new EngineError("ChecksumMismatch", `Maven brought ${other}, which is not pinned; not using it`);
}
