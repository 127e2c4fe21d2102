/** Pushes what an OCI layout holds, with the documents about it. */
import { OciError } from "./errors.ts";
import type { Blob, Image, ImageIndex } from "./image.ts";
import { digestInRegistry, pushImage, pushIndex, pushReferrers, type PushTarget } from "./push.ts";
import { type LayoutContents, readLayout } from "./read-layout.ts";

/** Where to; the tags are the names in the layout. */
export interface PushLayoutTarget extends Omit<PushTarget, "tag"> {
  /** Take a tag away from other content. Default: that is an error, because people rely on what they got under it. */
  readonly replace?: boolean | undefined;
}

/** Something that is in the registry now. */
export interface Pushed {
  readonly tag: string;
  readonly digest: string;
}

/** Pushes each named image and its documents. Nothing is pushed when a tag is taken. Throws `OciError`. */
export async function pushLayout(folder: string, target: PushLayoutTarget): Promise<readonly Pushed[]> {
  const { images, documents } = await readLayout(folder);
  if (target.replace !== true)
    for (const { name, image } of images) await requireFree({ ...target, tag: name }, image.manifest);
  for (const { name, image } of images) {
    await pushWithDocuments(image, documents, { ...target, tag: name });
  }
  return images.map(({ name, image }) => ({ tag: name, digest: image.manifest.digest }));
}

/** Pushes one image of a layout and the documents about it. Throws `OciError`. */
export async function pushWithDocuments(
  image: Image | ImageIndex,
  documents: LayoutContents["documents"],
  target: PushTarget,
): Promise<void> {
  await ("images" in image ? pushIndex(image, target) : pushImage(image, target));
  for (const subject of manifestsOf(image))
    await pushReferrers(subject, documents.get(subject.digest) ?? [], target);
}

function manifestsOf(image: Image | ImageIndex): readonly Blob[] {
  return "images" in image
    ? [image.manifest, ...image.images.map(({ manifest }) => manifest)]
    : [image.manifest];
}

async function requireFree(target: PushTarget, { digest }: Blob): Promise<void> {
  const present = await digestInRegistry(target);
  if (present === undefined || present === digest) return;
  throw new OciError(
    `${target.repository}:${target.tag} is in ${target.registry} already, with the digest ${present}, and this one has ${digest}; release another version, or say that it is to be replaced`,
  );
}
