/** Builds the release: a part for each kind of artefact, each in a folder of its own. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Registry } from "@klutch/api";
import { repositoryRoot } from "../root.ts";
import { buildImages, type ImagesOptions } from "./build-images.ts";
import type { ReleasedImage } from "./released-image.ts";
import { writeBundles } from "./bundles.ts";
import { packCharts } from "./charts.ts";
import type { Source } from "./provenance.ts";

const run = promisify(execFile);

/** What is built, and where it goes. */
export interface ReleaseOptions extends ImagesOptions {
  /** Where the artefacts are to be had once they are published. */
  readonly registry: Registry;
}

/** Builds and writes everything, and gives back the images. Throws `AptFault` when Debian packages cannot be had. */
export async function buildRelease(options: ReleaseOptions): Promise<readonly ReleasedImage[]> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-release-"));
  try {
    const source = await sourceOf();
    const images = await buildImages(options, source, folder);
    await writeBundles(options, images);
    await packCharts(options);
    return images;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function sourceOf(): Promise<Source> {
  const { stdout } = await run("git", ["log", "-1", "--format=%H %cI"], { cwd: repositoryRoot });
  const [revision = "", committedAt = ""] = stdout.trim().split(" ");
  return { revision, committedAt: new Date(committedAt).toISOString().replace(".000Z", "Z") };
}
