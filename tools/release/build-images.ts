/** The part of the release that is images: those of programs, and the Crossplane packages. */
import { join } from "node:path";
import { klutchVersion } from "@klutch/api";
import { type Architecture, buildIndex, writeLayout } from "@klutch/oci";
import { buildAppLayer } from "./app-layer.ts";
import { replace, replaceFile } from "./beside.ts";
import { buildReleaseImage } from "./build-image.ts";
import { buildFoundation } from "./foundation.ts";
import type { ImageDefinition } from "./images.ts";
import type { Source } from "./provenance.ts";
import { referenceOf, type ReleasedImage } from "./released-image.ts";
import type { Sign } from "./signing.ts";
import { sizeTable } from "./sizes.ts";

/** What is built, and where it goes. */
export interface ImagesOptions {
  /** Gets a layout for each image in `images` or `packages`, and `images.txt`. */
  readonly out: string;
  readonly architectures: readonly Architecture[];
  readonly definitions: readonly ImageDefinition[];
  readonly sign?: Sign | undefined;
  /** Told what is done, a line each. */
  readonly say: (line: string) => void;
}

/** How many MiB the folder has to have room for: for each platform apt's lists, the packages packed and unpacked, and Node's archive. */
export function roomOfImages({ architectures, definitions }: ImagesOptions): number {
  const servers = definitions.some(({ program }) => program?.servers !== undefined);
  return architectures.length * (servers ? 450 : 150);
}

/** Builds and writes them; `folder` is for what is needed meanwhile. Throws `AptFault` when Debian packages cannot be had. */
export async function buildImages(
  { out, architectures, definitions, sign, say }: ImagesOptions,
  source: Source,
  folder: string,
): Promise<readonly ReleasedImage[]> {
  const servers = new Set(definitions.flatMap(({ program }) => program?.servers ?? []));
  const building = architectures.map((architecture) =>
    buildFoundation(architecture, servers, join(folder, architecture), say),
  );
  // Where one fails, the folder is removed, and the other one must not write to it any more.
  await Promise.allSettled(building);
  const foundations = await Promise.all(building);
  const released: ReleasedImage[] = [];
  for (const definition of definitions) {
    const { program } = definition;
    const app = program === undefined ? undefined : await buildAppLayer(program.app, folder);
    const built = foundations.map((foundation) => buildReleaseImage(definition, app, foundation, source));
    const image = { definition, index: buildIndex(built), built };
    await writeImage(image, out, sign);
    released.push(image);
    say(referenceOf(image));
  }
  await replaceFile(join(out, "images.txt"), sizeTable(released));
  return released;
}

/** Writes the layout of an image, and lets it be signed before it stands in its place. */
export async function writeImage(
  { definition, index, built }: ReleasedImage,
  out: string,
  sign: Sign | undefined,
): Promise<void> {
  const { folder, name } = definition;
  const documents = built.flatMap(({ referrers }) => referrers);
  await replace(join(out, folder, name), async (layout) => {
    await writeLayout(layout, [
      { name: klutchVersion, image: index },
      ...documents.map((image) => ({ image })),
    ]);
    await sign?.(layout, index.manifest.digest, name);
  });
}
