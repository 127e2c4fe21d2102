/** Images of the release in the registry of a test's nodes. */
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { klutchVersion, releaseRegistry } from "@klutch/api";
import { AptFault } from "@klutch/engines";
import { listAt, recordAt } from "@klutch/kube-core";
import { buildImage, type Image, layerOf, pushImage, pushIndex } from "@klutch/oci";
import { bundleApp } from "../../build/bundle.ts";
import { programPath } from "../../release/app-layer.ts";
import { imageDefinitions } from "../../release/images.ts";
import { buildRelease } from "../../release/release.ts";

const architecture = "amd64";

/** Builds and pushes the images of these names, and returns them by name. Returns the reason as text when their Debian packages cannot be had. */
export async function pushImages(
  registry: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, Image> | string> {
  await using out = await mkdtempDisposable(join(tmpdir(), "klutch-charts-"));
  const definitions = imageDefinitions(releaseRegistry).filter(({ name }) => names.includes(name));
  const options = {
    out: out.path,
    registry: releaseRegistry,
    architectures: [architecture],
    definitions,
  } as const;
  const pushed = new Map<string, Image>();
  try {
    for (const { index, definition } of await buildRelease({ ...options, say: () => undefined })) {
      await pushIndex(index, { registry, repository: `klutch/${definition.name}`, tag: klutchVersion });
      const [image] = index.images;
      if (image !== undefined) pushed.set(definition.name, image);
    }
    return pushed;
  } catch (error) {
    if (error instanceof AptFault) return error.message;
    throw error;
  }
}

/** Pushes the konnector as another release would: the same image, whose program says another version. */
export async function pushKonnectorOf(version: string, { blobs }: Image, registry: string): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "klutch-charts-"));
  const bundle = join(folder.path, "konnector.mjs");
  await bundleApp("konnector", bundle);
  const program = (await readFile(bundle, "utf8")).replaceAll(`"${klutchVersion}"`, `"${version}"`);
  const above = layerOf([{ path: programPath("konnector"), content: Buffer.from(program) }]);
  const [configBlob, ...layers] = blobs;
  const parsed: unknown = JSON.parse(Buffer.from(configBlob?.bytes ?? []).toString());
  const diffIds = listAt(parsed, "rootfs", "diff_ids");
  const below = layers.map((blob, index) => ({ blob, diffId: String(diffIds[index]) }));
  const image = buildImage({ architecture, layers: [...below, above], config: recordAt(parsed, "config") });
  await pushImage(image, { registry, repository: "klutch/konnector", tag: version });
}
