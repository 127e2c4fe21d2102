/** Builds the part of the release that is images: those of programs, and the Crossplane packages. */
import { join } from "node:path";
import { klutchVersion } from "@klutch/api";
import { type Blob, buildIndex, type ImageIndex, type NamedImage, writeLayout } from "@klutch/oci";
import { buildAppLayer, buildConsoleLayer } from "./app-layer.ts";
import { type BuiltImage, buildReleaseImage } from "./build-image.ts";
import { replace, replaceFile } from "./disk-full.ts";
import { buildFoundation } from "./foundation.ts";
import type { ImageDefinition } from "./images.ts";
import type { ReleaseOptions } from "./options.ts";
import type { Source } from "./documents.ts";
import type { Sign } from "./signing.ts";

/** One image for all platforms, and the documents about each of them. */
export interface ReleasedImage {
  readonly definition: ImageDefinition;
  readonly index: ImageIndex;
  readonly built: readonly BuiltImage[];
}

/** `out` gets a layout for each image in `images` or `packages`, and `images.txt`. */
export type ImagesOptions = Pick<ReleaseOptions, "out" | "architectures" | "definitions" | "sign" | "say">;

/** Returns how many MiB the folder has to have room for: for each platform apt's lists, the packages packed and unpacked, and Node's archive. */
export function roomOfImages({ architectures, definitions }: ImagesOptions): number {
  const servers = definitions.some(({ program }) => program?.servers !== undefined);
  return architectures.length * (servers ? 450 : 150);
}

/** Builds and writes them; `folder` is for temporary files. Throws `AptFault` when Debian packages cannot be had. */
export async function buildImages(
  { out, architectures, definitions, sign, say }: ImagesOptions,
  source: Source,
  folder: string,
): Promise<readonly ReleasedImage[]> {
  const servers = new Set(definitions.flatMap(({ program }) => program?.servers ?? []));
  const building = architectures.map((architecture) =>
    buildFoundation(architecture, servers, join(folder, architecture), say),
  );
  // If one build fails, the folder is removed, and the other build must not write to it any more.
  await Promise.allSettled(building);
  const foundations = await Promise.all(building);
  const released: ReleasedImage[] = [];
  for (const definition of definitions) {
    const { program } = definition;
    const app = program === undefined ? undefined : await buildAppLayer(program.app, folder);
    const pages = program?.console === true ? [await buildConsoleLayer(folder)] : [];
    const built = foundations.map((foundation) =>
      buildReleaseImage(definition, app, foundation, source, pages),
    );
    const image = { definition, index: buildIndex(built), built };
    await writeImage(image, out, sign);
    released.push(image);
    say(referenceOf(image));
  }
  await replaceFile(join(out, "images.txt"), sizeTable(released));
  return released;
}

/** Writes the layout of an image, and lets it be signed before it is put in its place. */
export async function writeImage(image: ReleasedImage, out: string, sign: Sign | undefined): Promise<void> {
  const { folder, name } = image.definition;
  await replace(join(out, folder, name), async (layout) => {
    await writeLayout(layout, namedImages(image, klutchVersion));
    await sign?.(layout, image.index.manifest.digest, name);
  });
}

/** Returns the reference below the registry that a manifest would have. */
function referenceOf({ definition, index }: ReleasedImage): string {
  return `${definition.name}:${klutchVersion}@${index.manifest.digest}`;
}

/** Lists the images; each line starts with a reference, or with spaces. Sizes are what a registry sends for a platform, in megabytes. */
function sizeTable(released: readonly ReleasedImage[]): string {
  return released
    .flatMap((image) => [
      referenceOf(image),
      ...image.built.map(({ architecture, image: { blobs } }) => {
        const layers = blobs.slice(1).map((layer) => megabytes(layer));
        return `  ${architecture}  ${megabytes(...blobs)} MB = ${layers.join(" + ")}`;
      }),
    ])
    .map((line) => `${line}\n`)
    .join("");
}

function megabytes(...blobs: readonly Blob[]): string {
  return (blobs.reduce((total, { bytes }) => total + bytes.length, 0) / 1e6).toFixed(1);
}

/** Returns what a layout holds of the image: its index under this name, and the documents, which have none. */
export function namedImages({ index, built }: ReleasedImage, name: string): readonly NamedImage[] {
  const documents = built.flatMap(({ referrers }) => referrers);
  return [{ name, image: index }, ...documents.map((image) => ({ image }))];
}
