/**
 * The charts: as archives for Helm, and as OCI layouts for registries. What Helm packs and pushes names the time; these do not, so the same source
 * gives the same bytes, and a chart has one digest wherever it is pushed.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Registry } from "@klutch/api";
import { parseYaml } from "@klutch/kube";
import { isRecord, textAt } from "@klutch/kube-core";
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
import { replace } from "./beside.ts";
import { ReleaseError } from "./errors.ts";
import { entriesOf } from "./files.ts";
import type { Sign } from "./signing.ts";

/** Where the archives go, and what they name. */
export interface ChartsOptions {
  /** Gets a folder `charts` with `<name>-<version>.tgz`, and a layout `<name>`. */
  readonly out: string;
  /** Where the charts' images are had. */
  readonly registry: Registry;
  readonly sign?: Sign | undefined;
  /** Told what is written, a line each. */
  readonly say: (line: string) => void;
}

/** Folder of the release, and the path below the registry. */
export const chartsPath = "charts";

/** A chart as an archive, and as it is in a registry. */
export interface PackedChart {
  readonly path: string;
  readonly image: Required<NamedImage>;
}

/** Writes archive and layout of each chart, and nothing else stays in the folder. */
export async function packCharts({
  out,
  registry,
  sign,
  say,
}: ChartsOptions): Promise<readonly PackedChart[]> {
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

/** As `helm push` would make it (Helm: OCI-based registries), without the time. */
function imageOf(chart: ChartDefinition, archive: Uint8Array): Image {
  const metadata: unknown = parseYaml(printedFiles(chart)["Chart.yaml"] ?? "");
  if (!isRecord(metadata)) throw new ReleaseError(`${chart.name}: Chart.yaml is no object`);
  return buildArtifact(
    jsonBlob(metadata, "application/vnd.cncf.helm.config.v1+json"),
    blob(archive, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"),
    {
      "org.opencontainers.image.title": chart.name,
      "org.opencontainers.image.version": chartVersion,
      "org.opencontainers.image.description": textAt(metadata, "description") ?? "",
    },
  );
}

/** What is printed is printed anew, for the registry; the rest is as it stands in the tree. */
async function archiveOf(chart: ChartDefinition): Promise<Uint8Array> {
  const folder = join(repositoryRoot, chartsFolder, chart.name);
  const printed = printedFiles(chart);
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found
    .filter((each) => each.isFile())
    .map((each) => relative(folder, join(each.parentPath, each.name)))
    .map(async (path) => ({
      path: `${chart.name}/${path}`,
      content: Buffer.from(printed[path] ?? (await readFile(join(folder, path)))),
    }));
  return layerOf(entriesOf(await Promise.all(files))).blob.bytes;
}
