/** The list of images with their sizes, for people and for tools: a line starts with a reference, or with spaces. */
import type { Blob } from "@klutch/oci";
import { type ReleasedImage, referenceOf } from "./released-image.ts";

/** The list; sizes are those that a registry sends, in megabytes, of each platform. */
export function sizeTable(released: readonly ReleasedImage[]): string {
  const lines = released.flatMap((image) => [
    referenceOf(image),
    ...image.built.map(
      ({ architecture, image: { blobs } }) =>
        `  ${architecture}  ${megabytes(sum(blobs))} MB = ${blobs.slice(1).map(layerSize).join(" + ")}`,
    ),
  ]);
  return lines.map((line) => `${line}\n`).join("");
}

function sum(blobs: readonly Blob[]): number {
  return blobs.reduce((total, { bytes }) => total + bytes.length, 0);
}

function layerSize({ bytes }: Blob): string {
  return megabytes(bytes.length);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
