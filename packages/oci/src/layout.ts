/** An image in a folder (OCI image layout 1.0.0): what `ctr image import`, `crane push` and other tools read. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Blob, descriptor, type Image, type ImageIndex } from "./image.ts";

/** Something that a layout holds, under a name such as `v1.6.0`; documents about an image have none. */
export interface NamedImage {
  readonly name?: string;
  readonly image: Image | ImageIndex;
}

/** All blobs of an image or an index, each once. */
export function blobsOf(image: Image | ImageIndex): readonly Blob[] {
  const blobs = "images" in image ? image.images.flatMap(blobsOf) : image.blobs;
  return [...new Map([...blobs, image.manifest].map((each) => [each.digest, each])).values()];
}

/** Writes the layout into the folder, which is made. */
export async function writeLayout(folder: string, images: readonly NamedImage[]): Promise<void> {
  await mkdir(join(folder, "blobs", "sha256"), { recursive: true });
  for (const { digest, bytes } of images.flatMap(({ image }) => blobsOf(image)))
    await writeFile(join(folder, "blobs", ...digest.split(":")), bytes);
  await writeFile(join(folder, "index.json"), layoutIndex(images));
  await writeFile(join(folder, "oci-layout"), layoutMark);
}

/** Says that a folder is a layout; the file `oci-layout`. */
export const layoutMark: string = JSON.stringify({ imageLayoutVersion: "1.0.0" });

/** Says what a layout holds; its file `index.json`. */
export function layoutIndex(images: readonly NamedImage[]): string {
  const manifests = images.map(({ name, image }) =>
    descriptor(image.manifest, name === undefined ? undefined : { [refName]: name }),
  );
  return JSON.stringify({ schemaVersion: 2, manifests });
}

/** Annotation with the name of an image in a layout. */
export const refName = "org.opencontainers.image.ref.name";
