/** Builds the images of a release, and what names them: bundles, charts and the offline archive. */
import { buildImages, type ImagesOptions, type ReleasedImage, roomOfImages } from "./build-images.ts";
import { writeBundles } from "./bundles.ts";
import { packCharts } from "./charts.ts";
import { inTemporaryFolder } from "./disk-full.ts";
import { writeOffline } from "./offline.ts";
import type { ReleaseOptions } from "./options.ts";
import { sourceOfRelease } from "./documents.ts";

/** Builds and writes them, and returns the images. Throws `AptFault` when Debian packages cannot be had. */
export async function buildRelease(
  options: ImagesOptions & Pick<ReleaseOptions, "registry">,
): Promise<readonly ReleasedImage[]> {
  const source = sourceOfRelease();
  const images = await inTemporaryFolder("release", roomOfImages(options), (folder) =>
    buildImages(options, source, folder),
  );
  await writeBundles(options, images);
  const charts = await packCharts(options);
  await writeOffline(options.out, images, charts);
  return images;
}
