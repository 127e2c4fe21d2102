/** The two images that a node needs before it can pull any: each holds one static program. */
import { readFile } from "node:fs/promises";
import { type Architecture, buildImage, layoutArchive, plainLayerOf, type RuntimeConfig } from "@klutch/oci";
import type { ClusterPrograms } from "./programs.ts";

/** Repositories, and the tag that both have. */
export const systemImages = {
  pause: "localhost/klutch/pause",
  coredns: "localhost/klutch/coredns",
  tag: "node",
} as const;

/** How containers name it. */
export const systemImage = (name: "pause" | "coredns"): string => `${systemImages[name]}:${systemImages.tag}`;

/** The archive of an image with just this program, uncompressed because it stays on this machine. */
export async function systemImageArchive(
  name: "pause" | "coredns",
  programs: ClusterPrograms,
  architecture: Architecture,
): Promise<Uint8Array> {
  const layer = plainLayerOf([{ path: name, content: await readFile(programs[name]), mode: 0o755 }]);
  const config: RuntimeConfig = { Entrypoint: [`/${name}`], User: "65532:65532" };
  return layoutArchive([
    { name: systemImages.tag, image: buildImage({ architecture, layers: [layer], config }) },
  ]);
}
