/**
 * Writes the archive for places that reach no registry of ours: every artefact, the charts among them, in one OCI layout, each blob once, and
 * the bundles. `klutch mirror` and every tool that knows layouts can copy it on.
 */
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { klutchVersion } from "@klutch/api";
import { layoutFiles, tarEnd, tarParts } from "@klutch/oci";
import { bundleNames } from "./bundles.ts";
import type { PackedChart } from "./charts.ts";
import { replace } from "./disk-full.ts";
import { namedImages, type ReleasedImage } from "./build-images.ts";

/** Name of the archive, and of the folder in it. */
export const offlineName: string = `klutch-${klutchVersion}`;

/** Writes `offline/klutch-<version>.tar` of what was built and of the bundles in `out`. The same content gives the same bytes. */
export async function writeOffline(
  out: string,
  released: readonly ReleasedImage[],
  charts: readonly Pick<PackedChart, "image">[],
): Promise<void> {
  const layout = layoutFiles([
    ...released.flatMap((each) => namedImages(each, `${each.definition.name}:${klutchVersion}`)),
    ...charts.map(({ image }) => image),
  ]);
  await replace(join(out, "offline", `${offlineName}.tar`), async (path) => {
    await using file = await open(path, "w");
    const add = async (name: string, content: Uint8Array): Promise<void> => {
      for (const part of tarParts({ path: `${offlineName}/${name}`, content })) await file.writeFile(part);
    };
    for (const entry of layout) await add(entry.path, entry.content);
    for (const name of bundleNames.map((each) => `bundles/${each}.yaml`))
      await add(name, await readFile(join(out, name)));
    await file.writeFile(tarEnd);
  });
}
