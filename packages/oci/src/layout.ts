/** An image in a folder (OCI image layout 1.0.0): what `ctr image import`, `crane push` and other tools read. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Blob, descriptor, type Image, type ImageIndex } from "./image.ts";
import { tar } from "./tar.ts";

/** An entry of a layout, with a name such as `v1.6.0`; documents about an image have none. */
export interface NamedImage {
  readonly name?: string;
  readonly image: Image | ImageIndex;
}

/** All blobs of an image or an index, each once. */
function blobsOf(image: Image | ImageIndex): readonly Blob[] {
  const blobs = "images" in image ? image.images.flatMap(blobsOf) : image.blobs;
  return [...new Map([...blobs, image.manifest].map((each) => [each.digest, each])).values()];
}

/** Writes the layout into the folder, which is made. */
export async function writeLayout(folder: string, images: readonly NamedImage[]): Promise<void> {
  await mkdir(join(folder, "blobs", "sha256"), { recursive: true });
  for (const { path, content } of layoutFiles(images)) await writeFile(join(folder, path), content);
}

/** The layout as one archive. */
export function layoutArchive(images: readonly NamedImage[]): Uint8Array {
  return tar(layoutFiles(images));
}

/** The files of a layout, each blob once; paths are below its folder. */
export function layoutFiles(
  images: readonly NamedImage[],
): readonly { readonly path: string; readonly content: Uint8Array }[] {
  const blobs = new Map(
    images.flatMap(({ image }) => blobsOf(image)).map((each) => [each.digest, each.bytes]),
  );
  const manifests = images.map(({ name, image }) =>
    descriptor(image.manifest, name === undefined ? undefined : { [refName]: name }),
  );
  const json = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));
  return [
    ...[...blobs].map(([digest, content]) => ({ path: `blobs/${digest.replace(":", "/")}`, content })),
    { path: "index.json", content: json({ schemaVersion: 2, manifests }) },
    { path: "oci-layout", content: json({ imageLayoutVersion: "1.0.0" }) },
  ];
}

/** Annotation with the name of an image in a layout. */
export const refName = "org.opencontainers.image.ref.name";
