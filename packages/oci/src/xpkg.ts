/** Crossplane packages: an image with one layer, labelled `base`, that holds `package.yaml` and nothing else. */
import { gzipSync } from "node:zlib";
import { blob, descriptor, digestOf, type Image, jsonBlob, mediaTypes } from "./image.ts";
import { tar } from "./tar.ts";

/** Builds the package of a YAML stream whose first document is the meta object. The same text gives the same digest. */
export function buildXpkg(packageYaml: string): Image {
  const archive = tar([{ path: "package.yaml", content: Buffer.from(packageYaml) }]);
  const layer = blob(gzipSync(archive, { level: 9 }), mediaTypes.layer);
  const config = jsonBlob(
    {
      architecture: "amd64",
      os: "linux",
      rootfs: { type: "layers", diff_ids: [digestOf(archive)] },
      config: { Labels: { [`io.crossplane.xpkg:${layer.digest}`]: "base" } },
    },
    mediaTypes.config,
  );
  const manifest = jsonBlob(
    {
      schemaVersion: 2,
      mediaType: mediaTypes.manifest,
      config: descriptor(config),
      layers: [descriptor(layer, { "io.crossplane.xpkg": "base" })],
    },
    mediaTypes.manifest,
  );
  return { manifest, blobs: [config, layer] };
}
