/** The layer with Node, the same version for all programs: out of npm's package for the platform, as the lock file pins it. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Architecture, type Layer, layerOf } from "@klutch/oci";
import { ReleaseError } from "./errors.ts";
import { entriesOf } from "./files.ts";
import { type LockedPackage, lockedPackage } from "./lock-file.ts";

const run = promisify(execFile);

/** Where Node is in an image. */
export const nodePath = "usr/bin/node";

/** A layer with Node, and which it is. */
export interface NodeLayer {
  readonly layer: Layer;
  /** Of npm. */
  readonly package: LockedPackage;
}

/** Downloads a package of npm, such as `undici@8.0.0`, into a folder, and gives back the archive's path. */
export type Download = (reference: string, folder: string) => Promise<string>;

/** Downloads the package into `folder` and checks it. Throws `ReleaseError` when it is another than the lock file names. */
export async function buildNodeLayer(
  architecture: Architecture,
  folder: string,
  download: Download = npmPack,
): Promise<NodeLayer> {
  const packageName = `node-linux-${architecture === "amd64" ? "x64" : "arm64"}`;
  const locked = await lockedPackage(`node_modules/${packageName}`);
  const { version, integrity } = locked;
  const archive = await download(`${packageName}@${version}`, folder);
  const digest = `sha512-${createHash("sha512")
    .update(await readFile(archive))
    .digest("base64")}`;
  if (digest !== integrity)
    throw new ReleaseError(
      `${packageName}@${version} has the digest ${digest}, but package-lock.json names ${integrity}: somebody changed one of the two`,
    );
  const read = async (path: string): Promise<Uint8Array> => {
    const options = { encoding: "buffer", maxBuffer: 512 * 1024 * 1024 } as const;
    return (await run("tar", ["-xOzf", archive, `package/${path}`], options)).stdout;
  };
  const files = [
    { path: nodePath, content: await read("bin/node"), mode: 0o755 },
    { path: "usr/share/doc/node/LICENSE", content: await read("LICENSE") },
  ];
  return { layer: layerOf(entriesOf(files)), package: locked };
}

const npmPack: Download = async (reference, folder) => {
  const { stdout } = await run("npm", ["pack", reference, "--silent", "--pack-destination", folder]);
  return join(folder, stdout.trim());
};
