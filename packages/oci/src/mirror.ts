/**
 * Copies everything of a layout to a registry, by digest. Nothing is sent before the layout is known to be whole and no tag would change its
 * meaning; afterwards the registry is asked what it has.
 */
import { OciError } from "./errors.ts";
import type { Image, ImageIndex } from "./image.ts";
import type { NamedImage } from "./layout.ts";
import { digestInRegistry, type PushTarget } from "./push.ts";
import { pushWithDocuments } from "./push-layout.ts";
import { readLayout } from "./read-layout.ts";

/** From where to where. */
export interface MirrorOptions {
  /** Of the layout. Its images are named `<name>:<tag>`. */
  readonly folder: string;
  /** Base URL, such as `https://registry.example.org`. */
  readonly registry: string;
  /** Path above the names, such as `team/klutch`; empty for none. */
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
  /** Told each image that is there now. */
  readonly say: (line: string) => void;
}

/** An image that is in the registry. */
export interface MirroredImage {
  /** Below the path. */
  readonly name: string;
  readonly tag: string;
  readonly digest: string;
}

/** An image of the layout, and where it goes. */
interface Part extends MirroredImage {
  readonly image: Image | ImageIndex;
  readonly target: PushTarget;
}

/** Copies, and gives back what is there now. Throws `OciError`. */
export async function mirrorLayout(options: MirrorOptions): Promise<readonly MirroredImage[]> {
  const { folder, registry, path, signal, say } = options;
  const { images, documents } = await readLayout(folder);
  const parts = images.map((named): Part => {
    const { name, tag } = namesOf(named);
    const target = { registry, repository: path === "" ? name : `${path}/${name}`, tag, signal };
    return { name, tag, digest: named.image.manifest.digest, image: named.image, target };
  });
  await refuseOtherContent(parts);
  for (const part of parts) {
    await pushWithDocuments(part.image, documents, part.target);
    await confirm(part);
    say(`${part.name}:${part.tag}@${part.digest}`);
  }
  return parts.map(({ name, tag, digest }) => ({ name, tag, digest }));
}

/** Grammar of names and tags: OCI distribution specification 1.1, pulling manifests. */
function namesOf({ name: text, image }: Required<NamedImage>): Pick<MirroredImage, "name" | "tag"> {
  const [, name, tag] =
    /^([a-z0-9]+(?:[._/-]+[a-z0-9]+)*):([a-zA-Z0-9_][a-zA-Z0-9._-]{0,127})$/.exec(text) ?? [];
  if (name !== undefined && tag !== undefined) return { name, tag };
  throw new OciError(
    `the layout calls ${image.manifest.digest} ${JSON.stringify(text)}, expected <name>:<tag>`,
  );
}

/** A tag that means something else to those who use it already is not moved. */
async function refuseOtherContent(parts: readonly Part[]): Promise<void> {
  const problems: string[] = [];
  for (const { target, digest } of parts) {
    const found = await digestInRegistry(target);
    if (found !== undefined && found !== digest)
      problems.push(`${target.repository}:${target.tag} is ${found} there and ${digest} here`);
  }
  if (problems.length === 0) return;
  const registry = parts[0]?.target.registry ?? "";
  throw new OciError(
    `the registry ${registry} has other content under tags of this archive, and nothing was changed: ${problems.join("; ")}. Delete the tags there, or choose another path`,
  );
}

/** What the registry gives for tag and digest has to be what was sent. */
async function confirm({ target, digest }: Part): Promise<void> {
  for (const reference of [target.tag, digest]) {
    const found = await digestInRegistry({ ...target, tag: reference });
    if (found !== digest)
      throw new OciError(
        `the registry ${target.registry} took ${target.repository} and gives ${found ?? "nothing"} for ${reference}, expected ${digest}; install nothing from it`,
      );
  }
}
