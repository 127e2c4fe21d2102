/**
 * Crossplane packages: an image with a layer that holds `package.yaml`, labelled `base`. The layers of the program that the package runs may
 * be in the same image; Crossplane starts that image then.
 */
import { buildImage, type Image, type ImageParts, layerOf } from "./image.ts";

/** The program of a package. */
export type PackageRuntime = Pick<ImageParts, "architecture" | "layers" | "config" | "annotations">;

const baseMark = "io.crossplane.xpkg";

/**
 * Builds the package of a YAML stream whose first document is the meta object. Without a `runtime` it cannot be started as a Pod. The same
 * parts give the same digest.
 */
export function buildXpkg(packageYaml: string, runtime?: PackageRuntime): Image {
  const content = Buffer.from(packageYaml);
  const layer = layerOf([{ path: "package.yaml", content }], { [baseMark]: "base" });
  const { architecture = "amd64", layers = [], config = {}, annotations } = runtime ?? {};
  const Labels = { ...config.Labels, [`${baseMark}:${layer.blob.digest}`]: "base" };
  return buildImage({
    architecture,
    layers: [...layers, layer],
    config: { ...config, Labels },
    ...(annotations === undefined ? {} : { annotations }),
  });
}
