/**
 * The archive for places that reach no registry of ours: every artefact, the charts among them, in one OCI layout, each blob once, and the bundles. `klutch mirror`
 * and every tool that knows layouts can copy it on.
 */
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { klutchVersion } from "@klutch/api";
import { layoutFiles, type NamedImage, tarEnd, type TarEntry, tarParts } from "@klutch/oci";
import { replace } from "./beside.ts";
import { bundleNames } from "./bundles.ts";
import type { PackedChart } from "./charts.ts";
import type { ReleasedImage } from "./released-image.ts";

/** Of the archive, and of the folder in it. */
export const offlineName: string = `klutch-${klutchVersion}`;

/** Writes `offline/klutch-<version>.tar` of what was built and of the bundles in `out`. The same content gives the same bytes. */
export async function writeOffline(
  out: string,
  released: readonly ReleasedImage[],
  charts: readonly Pick<PackedChart, "image">[],
): Promise<void> {
  await replace(join(out, "offline", `${offlineName}.tar`), async (path) => {
    await using file = await open(path, "w");
    for await (const entry of entriesOf(out, released, charts))
      for (const part of tarParts({ ...entry, path: `${offlineName}/${entry.path}` }))
        await file.writeFile(part);
    await file.writeFile(tarEnd);
  });
}

async function* entriesOf(
  out: string,
  released: readonly ReleasedImage[],
  charts: readonly Pick<PackedChart, "image">[],
): AsyncGenerator<TarEntry> {
  yield* layoutFiles([
    ...released.flatMap(({ definition, index, built }): readonly NamedImage[] => [
      { name: `${definition.name}:${klutchVersion}`, image: index },
      ...built.flatMap(({ referrers }) => referrers.map((image) => ({ image }))),
    ]),
    ...charts.map(({ image }) => image),
  ]);
  for (const name of bundleNames) {
    const path = `bundles/${name}.yaml`;
    yield { path, content: await readFile(join(out, path)) };
  }
}
