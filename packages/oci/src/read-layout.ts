/** Images out of a folder (OCI image layout 1.0.0). Each blob is held against its digest before it is used. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { decodeLayoutIndex, decodeManifest, type Descriptor, largestManifest } from "./decode.ts";
import { OciError } from "./errors.ts";
import { type Blob, digestOf, type Image, type ImageIndex, type Referrer } from "./image.ts";

/** Something that a layout holds. */
export type Loaded =
  | { readonly kind: "index"; readonly index: ImageIndex }
  | { readonly kind: "image"; readonly image: Image }
  /** A document about the manifest with the digest `subject`. */
  | { readonly kind: "referrer"; readonly referrer: Referrer; readonly subject: string };

/** What the layout lists. Throws `OciError` when the folder is none. */
export async function readLayout(folder: string): Promise<readonly Descriptor[]> {
  const path = join(folder, "index.json");
  try {
    await readFile(join(folder, "oci-layout"));
    return decodeLayoutIndex(await readFile(path), path);
  } catch (cause) {
    if (cause instanceof OciError) throw cause;
    throw new OciError(
      `${folder} is no OCI layout: it has no oci-layout and index.json. Name the folder that the archive was unpacked to`,
      { cause },
    );
  }
}

/** Reads it with everything that it names. Throws `OciError` for what is missing or has another content than its digest says. */
export async function loadFromLayout(folder: string, of: Descriptor): Promise<Loaded> {
  const manifest = await readBlob(folder, of, largestManifest);
  const named = decodeManifest(manifest.bytes, of.mediaType, `manifest ${of.digest}`);
  if (named.kind === "index") {
    const images: Image[] = [];
    for (const each of named.manifests) images.push(await imageOf(folder, each));
    return { kind: "index", index: { manifest, images } };
  }
  const blobs = await readBlobs(folder, named.blobs);
  const { subject, artifactType } = named;
  return subject === undefined
    ? { kind: "image", image: { manifest, blobs } }
    : {
        kind: "referrer",
        referrer: { manifest, blobs, artifactType: artifactType ?? "" },
        subject: subject.digest,
      };
}

async function imageOf(folder: string, of: Descriptor): Promise<Image> {
  const loaded = await loadFromLayout(folder, of);
  if (loaded.kind === "image") return loaded.image;
  throw new OciError(`manifest ${of.digest}: is no image, expected the image of a platform`);
}

async function readBlobs(folder: string, all: readonly Descriptor[]): Promise<readonly Blob[]> {
  const blobs: Blob[] = [];
  for (const each of all) blobs.push(await readBlob(folder, each, Infinity));
  return blobs;
}

async function readBlob(folder: string, of: Descriptor, largest: number): Promise<Blob> {
  const { digest, mediaType, size } = of;
  const path = join(folder, "blobs", ...digest.split(":"));
  const found = await stat(path).catch((cause: unknown) => {
    throw new OciError(`${path} is missing; unpack the archive anew`, { cause });
  });
  if (found.size !== size || size > largest)
    throw new OciError(`${path} has ${found.size} bytes, expected ${size}; get and unpack the archive anew`);
  const bytes = await readFile(path);
  const actual = digestOf(bytes);
  if (actual !== digest)
    throw new OciError(`${path} has the checksum ${actual}; get and unpack the archive anew`);
  return { digest, bytes, mediaType };
}
