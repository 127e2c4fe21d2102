/**
 * Fetches Debian packages without installing them, as any user: apt as this machine has it configured, with state and cache of its own. So
 * sources, keys and proxies are those of the machine, apt checks signatures, and it leaves out installed packages.
 */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { textOf, freeMiBOf, inheritedEnvironment, run } from "./environment.ts";
import { type DigestedFile, keepFiles, type KeptFilesOptions, takeKept } from "./kept-files.ts";

/** An apt that answers slower than this has no network. */
const silenceSeconds = 15;

/** MiB for apt's lists. Apt waits for ever when its disk is full. */
const neededMiB = 64;

/** Apt could not fetch the packages. */
export class AptFault extends Error {}

/** Options of `fetchPackages`. */
export interface AptOptions {
  /** Default: `apt-get` on PATH. */
  readonly aptGet?: string | undefined;
  /** Further lines of apt's configuration, for tests. */
  readonly settings?: readonly string[] | undefined;
  readonly say: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Unpacks the packages, and those they need that are not installed here, into `folder`/root and gives back the version of the first.
 * Throws `AptFault` with apt's words.
 */
export async function fetchPackages(
  packages: readonly [string, ...string[]],
  folder: string,
  options: AptOptions,
): Promise<string> {
  const apt = await prepareApt(folder, options);
  const archives = archivesIn(folder);
  options.say("downloading the packages …");
  const install = ["install", "--yes", "--download-only", "--reinstall", "--no-install-recommends"];
  await apt(...install, ...packages);
  const root = join(folder, "root");
  await mkdir(root, { mode: 0o755 });
  for (const file of await readdir(archives))
    if (file.endsWith(".deb")) await run("dpkg-deb", ["-x", join(archives, file), root]);
  return versionOf(await archiveOf(packages[0], archives));
}

/** Finds the archive of a package that apt downloaded. */
async function archiveOf(name: string, archives: string): Promise<string> {
  const file = (await readdir(archives)).find((each) => each.startsWith(`${name}_`) && each.endsWith(".deb"));
  if (file === undefined) throw new AptFault(`apt did not download ${name}`);
  return join(archives, file);
}

async function versionOf(archive: string): Promise<string> {
  return (await run("dpkg-deb", ["-f", archive, "Version"])).stdout.trim();
}

/** A package that was downloaded and unpacked. */
export interface UnpackedPackage {
  readonly name: string;
  readonly version: string;
  /** Folder with its files. */
  readonly root: string;
}

/** Options of `unpackForeign`. */
export interface ForeignOptions extends AptOptions, KeptFilesOptions {
  /** Debian's name of the architecture. */
  readonly architecture: string;
}

/**
 * Unpacks just these packages for an architecture, which need not be this machine's, each into a folder of its own below `folder`. What
 * was downloaded once is kept in the cache, and apt says each time which versions there are. Throws `AptFault` with apt's words, and
 * `EngineError` when what apt downloaded is not what it announced, or cannot be kept.
 */
export async function unpackForeign(
  packages: readonly string[],
  folder: string,
  options: ForeignOptions,
): Promise<readonly UnpackedPackage[]> {
  const settings = [
    'Dir::State::Status "/dev/null";',
    "#clear APT::Architectures;",
    `APT::Architecture "${options.architecture}";`,
    `APT::Architectures:: "${options.architecture}";`,
    ...(options.settings ?? []),
  ];
  const archives = archivesIn(folder);
  const apt = await prepareApt(folder, { ...options, settings });
  const announced = announcedBy(await apt("download", "--print-uris", ...packages), archives);
  const missing: DigestedFile[] = [];
  for (const file of announced) if (!(await takeKept(file, options))) missing.push(file);
  options.say(`downloading ${missing.length} of ${packages.length} packages …`);
  // Apt skips the packages that are already downloaded.
  await apt("download", ...packages);
  await keepFiles(missing, options);
  return Promise.all(
    packages.map(async (name) => {
      const archive = await archiveOf(name, archives);
      const root = join(folder, name);
      await run("dpkg-deb", ["-x", archive, root]);
      return { name, version: await versionOf(archive), root };
    }),
  );
}

const archivesIn = (folder: string): string => join(folder, "cache", "archives");

/** Runs apt and returns what it wrote. Throws `AptFault` with its complaints. */
type Apt = (...args: readonly string[]) => Promise<string>;

/** Writes apt's configuration, and updates its lists. It downloads to its archives below `folder`. */
async function prepareApt(folder: string, options: AptOptions): Promise<Apt> {
  const archives = archivesIn(folder);
  for (const needed of [join(folder, "state", "lists", "partial"), join(archives, "partial")])
    await mkdir(needed, { recursive: true });
  const freeMiB = Math.floor(await freeMiBOf(folder));
  if (freeMiB < neededMiB)
    throw new AptFault(`the disk of ${folder} has ${freeMiB} MiB free, of which apt needs ${neededMiB}`);
  const configuration = join(folder, "apt.conf");
  await writeFile(configuration, [...settingsIn(folder), ...(options.settings ?? []), ""].join("\n"));
  const { aptGet = "apt-get", signal } = options;
  const env = { ...inheritedEnvironment, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };
  const runOptions = { cwd: archives, env, signal, maxBuffer: 16 * 1024 * 1024 };
  const apt: Apt = async (...args) => {
    try {
      return (await run(aptGet, ["-c", configuration, ...args], runOptions)).stdout;
    } catch (cause) {
      signal?.throwIfAborted();
      if (textOf(cause, "code") === "ENOENT") throw new AptFault("this machine has no apt-get", { cause });
      throw new AptFault(complaintsOf(textOf(cause, "stderr")) || "apt-get failed without a word", { cause });
    }
  };
  options.say("asking for the packages …");
  await apt("update");
  return apt;
}

/** Returns apt's settings. The machine's own hooks are cleared: they are for root and for installed packages. */
function settingsIn(folder: string): readonly string[] {
  const hooks = ["APT::Update::Pre-Invoke", "APT::Update::Post-Invoke", "APT::Update::Post-Invoke-Success"];
  return [
    `Dir::State "${join(folder, "state")}";`,
    `Dir::State::Lists "${join(folder, "state", "lists")}";`,
    'Dir::State::Status "/var/lib/dpkg/status";',
    `Dir::Cache "${join(folder, "cache")}";`,
    `Dir::Cache::Archives "${join(folder, "cache", "archives")}";`,
    'Debug::NoLocking "true";',
    // Another user could not enter our folder.
    'APT::Sandbox::User "root";',
    'APT::Update::Error-Mode "any";',
    'Acquire::Languages "none";',
    // Skips the metadata for software centres.
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";',
    'Acquire::Retries "1";',
    `Acquire::http::Timeout "${silenceSeconds}";`,
    `Acquire::https::Timeout "${silenceSeconds}";`,
    ...[...hooks, "DPkg::Pre-Invoke", "DPkg::Post-Invoke", "DPkg::Pre-Install-Pkgs"].map(
      (hook) => `#clear ${hook};`,
    ),
  ];
}

/**
 * Returns the files that apt would download into `folder`, with the digests that its signed lists name. `output` is what `--print-uris`
 * wrote. Those with a digest of another kind are left out.
 */
export function announcedBy(output: string, folder: string): readonly DigestedFile[] {
  const line = /^'[^']*' (\w[^\s/]*\.deb) \d+ (SHA256|SHA512):([0-9a-f]+)$/gm;
  return [...output.matchAll(line)].map(([, name = "", kind, hex = ""]) => ({
    path: `${folder}/${name}`,
    digest: { algorithm: kind === "SHA512" ? "sha512" : "sha256", hex },
  }));
}

/** Returns apt's complaints in what it wrote, without credentials that its configuration may hold in addresses. */
export function complaintsOf(output: string): string {
  const lines = output.split("\n").filter((line) => /^(E|Err|W):?/.test(line));
  const errors = lines.filter((line) => line.startsWith("E"));
  const first = (errors.length > 0 ? errors : lines).slice(0, 3).map((line) => line.trim());
  return first.join("; ").replaceAll(/\/\/[^/@\s]*@/g, "//");
}
