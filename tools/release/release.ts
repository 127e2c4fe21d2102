/** Builds images for platforms and writes them as OCI layouts. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { klutchVersion } from "@klutch/api";
import { type Architecture, buildIndex, type ImageIndex, type Referrer, writeLayout } from "@klutch/oci";
import { repositoryRoot } from "../root.ts";
import { buildAppLayer } from "./app-layer.ts";
import { buildBaseLayer } from "./base-layer.ts";
import { buildAppImage, type BuiltImage, type Foundation } from "./build-image.ts";
import type { ImageDefinition } from "./images.ts";
import { buildNodeLayer } from "./node-layer.ts";
import type { Source } from "./provenance.ts";

const run = promisify(execFile);

/** What is built, and where it goes. */
export interface ReleaseOptions {
  /** Gets a folder `images` with a layout for each image, and `images.txt`. */
  readonly out: string;
  readonly architectures: readonly Architecture[];
  readonly definitions: readonly ImageDefinition[];
  /** Told what is done, a line each. */
  readonly say: (line: string) => void;
}

/** One image for all platforms, and the documents about each of them. */
export interface ReleasedImage {
  readonly definition: ImageDefinition;
  readonly index: ImageIndex;
  readonly built: readonly BuiltImage[];
}

/** Builds and writes them. Throws `AptFault` when Debian packages cannot be had. */
export async function buildRelease(options: ReleaseOptions): Promise<readonly ReleasedImage[]> {
  const { out, architectures, definitions, say } = options;
  const folder = await mkdtemp(join(tmpdir(), "klutch-release-"));
  try {
    const source = await sourceOf();
    const foundations = await Promise.all(
      architectures.map((architecture) => foundationOf(architecture, folder, say)),
    );
    const released: ReleasedImage[] = [];
    for (const definition of definitions) {
      const app = await buildAppLayer(definition.app, folder);
      const built = await Promise.all(
        foundations.map((foundation) => buildAppImage(definition, app, foundation, source)),
      );
      const image = { definition, index: buildIndex(built), built };
      await writeImage(image, out);
      released.push(image);
      say(nameOf(image));
    }
    await writeFile(join(out, "images.txt"), released.map((image) => `${nameOf(image)}\n`).join(""));
    return released;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** As a manifest would name it, below the registry. */
function nameOf({ definition, index }: ReleasedImage): string {
  return `${definition.repository}:${klutchVersion}@${index.manifest.digest}`;
}

async function foundationOf(
  architecture: Architecture,
  folder: string,
  say: ReleaseOptions["say"],
): Promise<Foundation> {
  const own = join(folder, architecture);
  await mkdir(own);
  const base = await buildBaseLayer(architecture, own, (line) => say(`${architecture}: ${line}`));
  say(`${architecture}: packing Node …`);
  return { architecture, base, node: await buildNodeLayer(architecture, own) };
}

async function writeImage({ definition, index, built }: ReleasedImage, out: string): Promise<void> {
  const documents: readonly Referrer[] = built.flatMap(({ referrers }) => referrers);
  const target = join(out, "images", definition.app);
  await rm(target, { recursive: true, force: true });
  await writeLayout(target, [
    { name: klutchVersion, image: index },
    ...documents.map((image) => ({ image })),
  ]);
}

async function sourceOf(): Promise<Source> {
  const { stdout } = await run("git", ["log", "-1", "--format=%H %cI"], { cwd: repositoryRoot });
  const [revision = "", committedAt = ""] = stdout.trim().split(" ");
  return { revision, committedAt: new Date(committedAt).toISOString().replace(".000Z", "Z") };
}
