/** Writes OCI images and Crossplane packages and pushes them, without Docker. */
export { OciError } from "./errors.ts";
export {
  type Annotations,
  type Architecture,
  blob,
  type Blob,
  buildImage,
  buildIndex,
  buildReferrer,
  digestOf,
  type Image,
  type ImageIndex,
  type ImageParts,
  jsonBlob,
  type Layer,
  layerOf,
  type Referrer,
  type RuntimeConfig,
} from "./image.ts";
export { blobsOf, type NamedImage, writeLayout } from "./layout.ts";
export { pushImage, pushIndex, pushReferrers, type PushTarget } from "./push.ts";
export { tar, type TarEntry } from "./tar.ts";
export { buildXpkg } from "./xpkg.ts";
