/**
 * Copies images of a layout into a registry, with the documents about them. Nothing is sent before it is known that no tag would change its
 * meaning; afterwards the registry is asked what it has.
 */
import { OciError } from "./errors.ts";
import type { Blob, Image, ImageIndex } from "./image.ts";
import { digestInRegistry, pushImage, pushIndex, pushReferrers, type PushTarget } from "./push.ts";
import type { LayoutContents } from "./read-layout.ts";

/** An image, and where it goes. */
export interface Copy {
  readonly image: Image | ImageIndex;
  readonly target: PushTarget;
}

/** Common options of all copies. */
export interface CopyOptions<C extends Copy> {
  /** Documents by the digest of the image. */
  readonly documents: LayoutContents["documents"];
  /** Advice for a tag with other content; undefined means that the tag is moved. */
  readonly remedy: string | undefined;
  /** Called for each image that is in the registry now. */
  readonly onCopied: (copy: C) => void;
}

/** Copies them in order. Throws `OciError`. */
export async function copyImages<C extends Copy>(
  copies: readonly C[],
  options: CopyOptions<C>,
): Promise<void> {
  const { documents, remedy, onCopied } = options;
  if (remedy !== undefined) await refuseOtherContent(copies, remedy);
  for (const copy of copies) {
    await pushWithDocuments(copy, documents);
    await confirm(copy);
    onCopied(copy);
  }
}

/** A tag that means something else to those who use it already is not moved. */
async function refuseOtherContent(copies: readonly Copy[], remedy: string): Promise<void> {
  const problems: string[] = [];
  for (const { target, image } of copies) {
    const { digest } = image.manifest;
    const found = await digestInRegistry(target);
    if (found !== undefined && found !== digest)
      problems.push(`${target.repository}:${target.tag} is ${found} there and ${digest} here`);
  }
  if (problems.length === 0) return;
  const registry = copies[0]?.target.registry ?? "";
  throw new OciError(
    `the registry ${registry} has other content under tags that were to be written, and nothing was changed: ${problems.join("; ")}. ${remedy}`,
  );
}

async function pushWithDocuments(
  { image, target }: Copy,
  documents: LayoutContents["documents"],
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

/** Checks that the registry returns the sent content for tag and digest. */
async function confirm({ target, image }: Copy): Promise<void> {
  const { digest } = image.manifest;
  for (const reference of [target.tag, digest]) {
    const found = await digestInRegistry({ ...target, tag: reference });
    if (found !== digest)
      throw new OciError(
        `the registry ${target.registry} took ${target.repository} and gives ${found ?? "nothing"} for ${reference}, expected ${digest}; install nothing from it`,
      );
  }
}
