/** Copies everything of a layout to a registry, each image under a name of its own. Nothing is sent before the layout is known to be whole. */
import { type Copy, copyImages } from "./copy.ts";
import { OciError } from "./errors.ts";
import type { NamedImage } from "./layout.ts";
import type { RegistryLogin } from "./login.ts";
import { readLayout } from "./read-layout.ts";

/** Source and target. */
export interface MirrorOptions {
  /** Folder of the layout. Its images are named `<name>:<tag>`. */
  readonly folder: string;
  /** Base URL, such as `https://registry.example.org`. */
  readonly registry: string;
  /** Path above the names, such as `team/klutch`; empty for none. */
  readonly path: string;
  /** Default: none, for registries that ask for none. */
  readonly login?: RegistryLogin | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called for each image that is in the registry now. */
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
interface Part extends MirroredImage, Copy {}

/** Copies, and returns the images that are in the registry now. Throws `OciError`. */
export async function mirrorLayout(options: MirrorOptions): Promise<readonly MirroredImage[]> {
  const { folder, registry, path, login, signal, say } = options;
  const { images, documents } = await readLayout(folder);
  const parts = images.map((named): Part => {
    const { name, tag } = namesOf(named);
    const target = { registry, repository: path === "" ? name : `${path}/${name}`, tag, login, signal };
    return { name, tag, digest: named.image.manifest.digest, image: named.image, target };
  });
  await copyImages(parts, {
    documents,
    remedy: "Delete the tags there, or choose another path",
    onCopied: ({ name, tag, digest }) => say(`${name}:${tag}@${digest}`),
  });
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
