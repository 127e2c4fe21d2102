/** Reads documents of a layout or a registry, of which nothing is believed. */
import { OciError } from "./errors.ts";
import { mediaTypes } from "./image.ts";
import { refName } from "./layout.ts";

/** How a document names a blob. */
export interface Descriptor {
  /** `sha256:<hex>`, checked. */
  readonly digest: string;
  readonly mediaType: string;
  /** In bytes. */
  readonly size: number;
  /** Name in a layout. */
  readonly name: string | undefined;
}

/** What a manifest names. */
export type Manifest =
  | { readonly kind: "index"; readonly manifests: readonly Descriptor[] }
  | {
      readonly kind: "image";
      /** Configuration first, then layers. */
      readonly blobs: readonly Descriptor[];
      /** The image that a document is about. */
      readonly subject: Descriptor | undefined;
      readonly artifactType: string | undefined;
    };

/** The largest manifest that is read, in bytes (OCI distribution specification 1.1, pushing manifests). */
export const largestManifest: number = 4 * 1024 * 1024;

type Json = Readonly<Record<string, unknown>>;

/** What `index.json` of a layout lists. Throws `OciError`; `where` names the document in it. */
export function decodeLayoutIndex(bytes: Uint8Array, where: string): readonly Descriptor[] {
  return descriptors(parse(bytes, where)["manifests"], `${where}: manifests`);
}

/** A manifest of an image or an index. Throws `OciError`. */
export function decodeManifest(bytes: Uint8Array, mediaType: string, where: string): Manifest {
  const document = parse(bytes, where);
  if (mediaType === mediaTypes.index)
    return { kind: "index", manifests: descriptors(document["manifests"], `${where}: manifests`) };
  if (mediaType !== mediaTypes.manifest)
    throw new OciError(`${where}: is a ${JSON.stringify(mediaType)}, expected an OCI manifest or index`);
  const { config, layers, subject, artifactType } = document;
  return {
    kind: "image",
    blobs: [descriptor(config, `${where}: config`), ...descriptors(layers, `${where}: layers`)],
    subject: subject === undefined ? undefined : descriptor(subject, `${where}: subject`),
    artifactType: typeof artifactType === "string" ? artifactType : undefined,
  };
}

function parse(bytes: Uint8Array, where: string): Json {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    if (isRecord(value)) return value;
  } catch (cause) {
    throw new OciError(`${where}: is no JSON`, { cause });
  }
  throw new OciError(`${where}: is no JSON object`);
}

function descriptors(value: unknown, where: string): readonly Descriptor[] {
  if (!Array.isArray(value)) throw new OciError(`${where}: is missing or no list`);
  return value.map((each: unknown, index) => descriptor(each, `${where}[${index}]`));
}

function descriptor(value: unknown, where: string): Descriptor {
  const { digest, mediaType, size, annotations } = isRecord(value) ? value : {};
  // A digest becomes the name of a file and a part of a URL.
  if (typeof digest !== "string" || !/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new OciError(`${where}.digest: is ${shown(digest)}, expected sha256: and 64 hexadecimal digits`);
  if (typeof mediaType !== "string") throw new OciError(`${where}.mediaType: is ${shown(mediaType)}`);
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0)
    throw new OciError(`${where}.size: is ${shown(size)}, expected a number of bytes`);
  const name = isRecord(annotations) ? annotations[refName] : undefined;
  return { digest, mediaType, size, name: typeof name === "string" ? name : undefined };
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? "missing").slice(0, 100);

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
