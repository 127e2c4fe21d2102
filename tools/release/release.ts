/** Builds the release: a part for each kind of artefact, each in a folder of its own. */
import type { Registry } from "@klutch/api";
import { buildImages, type ImagesOptions, roomOfImages } from "./build-images.ts";
import { writeBundles } from "./bundles.ts";
import { packCharts } from "./charts.ts";
import { inTemporaryFolder } from "./disk-full.ts";
import { writeOffline } from "./offline.ts";
import { sourceOfRelease } from "./provenance.ts";
import type { ReleasedImage } from "./released-image.ts";

/** What is built, and where it goes. */
export interface ReleaseOptions extends ImagesOptions {
  /** Where the artefacts are to be had once they are published. */
  readonly registry: Registry;
}

/** Builds and writes everything, and gives back the images. Throws `AptFault` when Debian packages cannot be had. */
export async function buildRelease(options: ReleaseOptions): Promise<readonly ReleasedImage[]> {
  const source = await sourceOfRelease();
  const images = await inTemporaryFolder("release", roomOfImages(options), (folder) =>
    buildImages(options, source, folder),
  );
  await writeBundles(options, images);
  const charts = await packCharts(options);
  await writeOffline(options.out, images, charts);
  return images;
}
