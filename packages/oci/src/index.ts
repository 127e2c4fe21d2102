/** Writes OCI images and Crossplane packages and pushes them, without Docker. */
export { dockerAccount } from "./docker-config.ts";
export { OciError } from "./errors.ts";
export {
  type Annotations,
  type Architecture,
  blob,
  type Blob,
  buildArtifact,
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
export { layoutArchive, layoutFiles, type NamedImage, writeLayout } from "./layout.ts";
export { type Account, passwordAccount, RegistryLogin } from "./login.ts";
export { mirrorLayout, type MirroredImage, type MirrorOptions } from "./mirror.ts";
export { pushImage, pushIndex, pushReferrers, type PushTarget } from "./push.ts";
export { pushLayout, type PushLayoutTarget, type Pushed } from "./push-layout.ts";
export { type LayoutContents, readLayout } from "./read-layout.ts";
export { tar, tarEnd, type TarEntry, tarParts } from "./tar.ts";
export { buildXpkg } from "./xpkg.ts";
