/** Writes OCI images and Crossplane packages and pushes them, without Docker. */
export { OciError } from "./errors.ts";
export type { Blob, Image } from "./image.ts";
export { pushImage, type PushTarget } from "./push.ts";
export { tar, type TarFile } from "./tar.ts";
export { buildXpkg } from "./xpkg.ts";
