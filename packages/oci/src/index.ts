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
  plainLayerOf,
  type Referrer,
  type RuntimeConfig,
} from "./image.ts";
export { blobsOf, layoutArchive, type NamedImage, writeLayout } from "./layout.ts";
export { pushImage, pushIndex, pushReferrers, type PushTarget } from "./push.ts";
export { pushLayout, type PushLayoutTarget, type Pushed } from "./push-layout.ts";
export { type LayoutContents, readLayout } from "./read-layout.ts";
export { tar, type TarEntry } from "./tar.ts";
export { buildXpkg } from "./xpkg.ts";
