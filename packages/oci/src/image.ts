/** OCI images as bytes in memory (OCI image specification 1.1). */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { tar, type TarEntry } from "./tar.ts";

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

/** One image for each platform under one name: push the images first, then the index. */
export interface ImageIndex {
  readonly manifest: Blob;
  readonly images: readonly Image[];
}

/** Media types of the specification. */
export const mediaTypes = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
  plainLayer: "application/vnd.oci.image.layer.v1.tar",
  empty: "application/vnd.oci.empty.v1+json",
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

/** Texts by name, of an image, a layer or a manifest. */
export type Annotations = Readonly<Record<string, string>>;

/** Returns the entry of a blob in a manifest. */
export function descriptor(of: Blob, annotations?: Annotations): object {
  return {
    mediaType: of.mediaType,
    digest: of.digest,
    size: of.bytes.length,
    ...(annotations === undefined ? {} : { annotations }),
  };
}

/** A layer: the blob to push, and the digest of its content. */
export interface Layer {
  readonly blob: Blob;
  /** Digest of the archive before compression. */
  readonly diffId: string;
  /** Annotations in the manifest that names it. */
  readonly annotations?: Annotations;
}

/** The layer of these files. The same files in the same order give the same digest. */
export function layerOf(entries: readonly TarEntry[], annotations?: Annotations): Layer {
  const archive = tar(entries);
  const packed = blob(gzipSync(archive), mediaTypes.layer);
  return { blob: packed, diffId: digestOf(archive), ...(annotations === undefined ? {} : { annotations }) };
}

/** The same without compression, for images that do not travel. */
export function plainLayerOf(entries: readonly TarEntry[]): Layer {
  const archive = blob(tar(entries), mediaTypes.plainLayer);
  return { blob: archive, diffId: archive.digest };
}

/** The platforms that are built for. */
export type Architecture = "amd64" | "arm64";

/** Start of a container of the image (OCI image configuration). */
export interface RuntimeConfig {
  readonly Entrypoint?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Labels?: Annotations;
}

/** Parts of an image; layers from the lowest. */
export interface ImageParts {
  readonly architecture: Architecture;
  readonly layers: readonly Layer[];
  readonly config: RuntimeConfig;
  readonly annotations?: Annotations;
}

/** An image for Linux. It says no time, so the same parts give the same digest. */
export function buildImage({ architecture, layers, config, annotations }: ImageParts): Image {
  const rootfs = { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) };
  const configBlob = jsonBlob({ architecture, os: "linux", rootfs, config }, mediaTypes.config);
  const manifest = jsonBlob(
    {
      schemaVersion: 2,
      mediaType: mediaTypes.manifest,
      config: descriptor(configBlob),
      layers: layers.map((layer) => descriptor(layer.blob, layer.annotations)),
      ...(annotations === undefined ? {} : { annotations }),
    },
    mediaTypes.manifest,
  );
  return { manifest, blobs: [configBlob, ...layers.map((layer) => layer.blob)] };
}

/** Builds an artefact other than a program, such as a chart; the media type of `config` names its kind. */
export function buildArtifact(config: Blob, content: Blob, annotations: Annotations): Image {
  const manifest = jsonBlob(
    {
      schemaVersion: 2,
      mediaType: mediaTypes.manifest,
      config: descriptor(config),
      layers: [descriptor(content)],
      annotations,
    },
    mediaTypes.manifest,
  );
  return { manifest, blobs: [config, content] };
}

/** One name for the images of several platforms. */
export function buildIndex(
  images: readonly { readonly architecture: Architecture; readonly image: Image }[],
  annotations?: Annotations,
): ImageIndex {
  const manifests = images.map(({ architecture, image }) => ({
    ...descriptor(image.manifest),
    platform: { architecture, os: "linux" },
  }));
  return { manifest: indexBlob(manifests, annotations), images: images.map(({ image }) => image) };
}

/** The list of documents about one image, for registries that keep none. */
export function buildReferrersIndex(referrers: readonly Referrer[]): Blob {
  return indexBlob(
    referrers.map(({ manifest, artifactType }) => ({ ...descriptor(manifest), artifactType })),
    undefined,
  );
}

function indexBlob(manifests: readonly object[], annotations: Annotations | undefined): Blob {
  return jsonBlob(
    { schemaVersion: 2, mediaType: mediaTypes.index, manifests, annotations },
    mediaTypes.index,
  );
}

/** A document about an image. */
export interface Referrer extends Image {
  /** Media type of the document. */
  readonly artifactType: string;
}

/**
 * Builds a document about an image, which is found by the image's digest (OCI distribution specification 1.1, referrers): `mediaType` names
 * its kind, such as `application/spdx+json`.
 */
export function buildReferrer(subject: Blob, document: Blob, annotations?: Annotations): Referrer {
  const artifactType = document.mediaType;
  const empty = blob(Buffer.from("{}"), mediaTypes.empty);
  const manifest = jsonBlob(
    {
      schemaVersion: 2,
      mediaType: mediaTypes.manifest,
      artifactType,
      config: descriptor(empty),
      layers: [descriptor(document)],
      subject: descriptor(subject),
      annotations,
    },
    mediaTypes.manifest,
  );
  return { manifest, blobs: [empty, document], artifactType };
}
