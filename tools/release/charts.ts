/** The charts as archives that `helm push` takes. Helm's own archives name the time; these do not, so the same source gives the same bytes. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Registry } from "@klutch/api";
import { layerOf } from "@klutch/oci";
import { type ChartDefinition, chartsFolder, chartVersion } from "../charts/chart.ts";
import { chartDefinitions, printedFiles } from "../charts/charts.ts";
import { repositoryRoot } from "../root.ts";
import { entriesOf } from "./files.ts";

/** Where the archives go, and what they name. */
export interface ChartsOptions {
  /** Gets a folder `charts` with `<name>-<version>.tgz`. */
  readonly out: string;
  /** Where the charts' images are had. */
  readonly registry: Registry;
  /** Told what is written, a line each. */
  readonly say: (line: string) => void;
}

/** Writes an archive for each chart; gives back their paths. */
export async function packCharts({ out, registry, say }: ChartsOptions): Promise<readonly string[]> {
  const folder = join(out, "charts");
  await mkdir(folder, { recursive: true });
  return Promise.all(
    chartDefinitions(registry).map(async (chart) => {
      const path = join(folder, `${chart.name}-${chartVersion}.tgz`);
      await writeFile(path, await archiveOf(chart));
      say(`charts/${chart.name}:${chartVersion}`);
      return path;
    }),
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
