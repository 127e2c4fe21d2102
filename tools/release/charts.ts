/**
 * Packs the charts: as archives for Helm, and as OCI layouts for registries. What Helm packs and pushes names the time; these do not, so the same
 * source gives the same bytes, and a chart has one digest wherever it is pushed.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseYaml } from "@klutch/kube";
import {
  blob,
  buildArtifact,
  type Image,
  jsonBlob,
  layerOf,
  type NamedImage,
  writeLayout,
} from "@klutch/oci";
import { type ChartDefinition, chartsFolder, chartVersion } from "../charts/chart.ts";
import { chartDefinitions, printedFiles } from "../charts/charts.ts";
import { repositoryRoot } from "../root.ts";
import { replace } from "./disk-full.ts";
import { entriesOf, filesIn } from "./files.ts";
import type { ReleaseOptions } from "./options.ts";

/** Folder of the release, and the path below the registry. */
export const chartsPath = "charts";

/** A chart as an archive, and as it is in a registry. */
export interface PackedChart {
  readonly path: string;
  readonly image: Required<NamedImage>;
}

/** Writes `<name>-<version>.tgz` and a layout `<name>` of each chart in the folder `charts`, in which nothing else stays. */
export async function packCharts({
  out,
  registry,
  sign,
  say,
}: Pick<ReleaseOptions, "out" | "registry" | "sign" | "say">): Promise<readonly PackedChart[]> {
  const folder = join(out, chartsPath);
  const packed: PackedChart[] = [];
  await replace(folder, async (target) => {
    await mkdir(target, { recursive: true });
    for (const chart of chartDefinitions(registry)) {
      const archive = await archiveOf(chart);
      const file = `${chart.name}-${chartVersion}.tgz`;
      await writeFile(join(target, file), archive);
      const image = imageOf(chart, archive);
      const layout = join(target, chart.name);
      await writeLayout(layout, [{ name: chartVersion, image }]);
      const name = `${chartsPath}/${chart.name}`;
      await sign?.(layout, image.manifest.digest, name);
      packed.push({ path: join(folder, file), image: { name: `${name}:${chartVersion}`, image } });
    }
  });
  for (const { image } of packed) say(image.name);
  return packed;
}

/** Builds what `helm push` would make (Helm: OCI-based registries), without the time. */
function imageOf(chart: ChartDefinition, archive: Uint8Array): Image {
  return buildArtifact(
    jsonBlob(parseYaml(printedFiles(chart)["Chart.yaml"] ?? ""), "application/vnd.cncf.helm.config.v1+json"),
    blob(archive, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"),
    {
      "org.opencontainers.image.title": chart.name,
      "org.opencontainers.image.version": chartVersion,
      "org.opencontainers.image.description": chart.description,
    },
  );
}

/** Archives a chart: printed files are printed again, for the registry; the rest is copied from the tree. */
async function archiveOf(chart: ChartDefinition): Promise<Uint8Array> {
  const folder = join(repositoryRoot, chartsFolder, chart.name);
  const printed = printedFiles(chart);
  const files = (await filesIn(folder)).map(async (path) => ({
    path: `${chart.name}/${path}`,
    content: Buffer.from(printed[path] ?? (await readFile(join(folder, path)))),
  }));
  return layerOf(entriesOf(await Promise.all(files))).blob.bytes;
}
