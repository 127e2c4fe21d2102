/** An image of the release, and how manifests name it. */
import { klutchVersion } from "@klutch/api";
import type { ImageIndex } from "@klutch/oci";
import type { BuiltImage } from "./build-image.ts";
import type { ImageDefinition } from "./images.ts";

/** One image for all platforms, and the documents about each of them. */
export interface ReleasedImage {
  readonly definition: ImageDefinition;
  readonly index: ImageIndex;
  readonly built: readonly BuiltImage[];
}

/** As a manifest would name it, below the registry. */
export function referenceOf({ definition, index }: ReleasedImage): string {
  return `${definition.name}:${klutchVersion}@${index.manifest.digest}`;
}
