/** The layer with Node, the same version for all programs: out of npm's package for the platform, as the lock file pins it. */
import { type Architecture, type Layer, layerOf } from "@klutch/oci";
import { entriesOf } from "./files.ts";
import type { LockedPackage } from "./lock-file.ts";
import { fetchNpmArchive, type NpmArchiveOptions } from "./npm-archive.ts";

/** Where Node is in an image. */
export const nodePath = "usr/bin/node";

/** A layer with Node, and which it is. */
export interface NodeLayer {
  readonly layer: Layer;
  /** Of npm. */
  readonly package: LockedPackage;
}

/** Has the package in `folder` and checks it. Throws `ReleaseError` when it is another than the lock file names. */
export async function buildNodeLayer(
  architecture: Architecture,
  folder: string,
  options?: NpmArchiveOptions,
): Promise<NodeLayer> {
  const name = `node-linux-${architecture === "amd64" ? "x64" : "arm64"}`;
  const node = await fetchNpmArchive(name, folder, options);
  const files = [
    { path: nodePath, content: await node.read("bin/node"), mode: 0o755 },
    { path: "usr/share/doc/node/LICENSE", content: await node.read("LICENSE") },
  ];
  return { layer: layerOf(entriesOf(files)), package: node.package };
}
