/** Pushes what an OCI layout holds, with the documents about it. */
import { copyImages } from "./copy.ts";
import type { PushTarget } from "./push.ts";
import { readLayout } from "./read-layout.ts";

/** Target; the tags are the names in the layout. */
export interface PushLayoutTarget extends Omit<PushTarget, "tag"> {
  /** Take a tag away from other content. Default: that is an error, because people rely on what they got under it. */
  readonly replace?: boolean | undefined;
}

/** An image that is in the registry now. */
export interface Pushed {
  readonly tag: string;
  readonly digest: string;
}

/** Pushes each named image and its documents. Nothing is pushed when a tag is taken. Throws `OciError`. */
export async function pushLayout(folder: string, target: PushLayoutTarget): Promise<readonly Pushed[]> {
  const { images, documents } = await readLayout(folder);
  const pushed: Pushed[] = [];
  await copyImages(
    images.map(({ name, image }) => ({ image, target: { ...target, tag: name } })),
    {
      documents,
      remedy:
        target.replace === true ? undefined : "Release another version, or say that it is to be replaced",
      onCopied: ({ image, target: { tag } }) => pushed.push({ tag, digest: image.manifest.digest }),
    },
  );
  return pushed;
}
