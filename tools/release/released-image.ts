/** Describes an image of the release, names it as manifests do, and lists images with their sizes. */
import { klutchVersion } from "@klutch/api";
import type { Blob, ImageIndex, NamedImage } from "@klutch/oci";
import type { BuiltImage } from "./build-image.ts";
import type { ImageDefinition } from "./images.ts";

/** One image for all platforms, and the documents about each of them. */
export interface ReleasedImage {
  readonly definition: ImageDefinition;
  readonly index: ImageIndex;
  readonly built: readonly BuiltImage[];
}

/** Returns the reference below the registry that a manifest would have. */
export function referenceOf({ definition, index }: ReleasedImage): string {
  return `${definition.name}:${klutchVersion}@${index.manifest.digest}`;
}

/** Lists the images; each line starts with a reference, or with spaces. Sizes are what a registry sends for a platform, in megabytes. */
export function sizeTable(released: readonly ReleasedImage[]): string {
  return released
    .flatMap((image) => [
      referenceOf(image),
      ...image.built.map(({ architecture, image: { blobs } }) => {
        const layers = blobs.slice(1).map((layer) => megabytes(layer));
        return `  ${architecture}  ${megabytes(...blobs)} MB = ${layers.join(" + ")}`;
      }),
    ])
    .map((line) => `${line}\n`)
    .join("");
}

function megabytes(...blobs: readonly Blob[]): string {
  return (blobs.reduce((total, { bytes }) => total + bytes.length, 0) / 1e6).toFixed(1);
}

/** Returns what a layout holds of the image: its index under this name, and the documents, which have none. */
export function namedImages({ index, built }: ReleasedImage, name: string): readonly NamedImage[] {
  const documents = built.flatMap(({ referrers }) => referrers);
  return [{ name, image: index }, ...documents.map((image) => ({ image }))];
}
