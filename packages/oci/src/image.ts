/** OCI images as bytes in memory (OCI image specification 1.1). */
import { createHash } from "node:crypto";

/** A blob and its digest. */
export interface Blob {
  /** `sha256:<hex>`. */
  readonly digest: string;
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

/** A complete image: push the blobs first, then the manifest. */
export interface Image {
  readonly manifest: Blob;
  readonly blobs: readonly Blob[];
}

/** Media types of the specification. */
export const mediaTypes = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
} as const;

/** `sha256:<hex>` of the bytes. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** A blob of the bytes. */
export function blob(bytes: Uint8Array, mediaType: string): Blob {
  return { digest: digestOf(bytes), bytes, mediaType };
}

/** A blob of the value as JSON. */
export function jsonBlob(value: unknown, mediaType: string): Blob {
  return blob(Buffer.from(JSON.stringify(value)), mediaType);
}

/** How a manifest names a blob. */
export function descriptor(of: Blob, annotations?: Readonly<Record<string, string>>): unknown {
  return {
    mediaType: of.mediaType,
    digest: of.digest,
    size: of.bytes.length,
    ...(annotations === undefined ? {} : { annotations }),
  };
}
