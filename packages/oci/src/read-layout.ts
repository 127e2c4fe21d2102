/** Reads an OCI layout back, which may have gone over a disk or a network: nothing is taken whose bytes are not those of its digest. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { OciError } from "./errors.ts";
import { type Blob, digestOf, type Image, type ImageIndex, mediaTypes, type Referrer } from "./image.ts";
import { type NamedImage, refName } from "./layout.ts";

/** Content of a layout. */
export interface LayoutContents {
  /** Images with a name. */
  readonly images: readonly Required<NamedImage>[];
  /** Documents about images, by the digest of the image. */
  readonly documents: ReadonlyMap<string, readonly Referrer[]>;
}

/** Another manifest or blob, as a manifest names it. */
interface Descriptor {
  readonly digest: string;
  readonly mediaType: string;
  readonly name: string | undefined;
}

/** A layout while it is read. */
interface Source {
  readonly folder: string;
  /** Blobs that were read already: images share most of their layers. */
  readonly known: Map<string, Blob>;
}

/** Reads the layout in the folder. Throws `OciError` that names the file which is missing or has other bytes. */
export async function readLayout(folder: string): Promise<LayoutContents> {
  const source: Source = { folder, known: new Map() };
  const index = await jsonIn(join(folder, "index.json"));
  const images: Required<NamedImage>[] = [];
  const documents = new Map<string, readonly Referrer[]>();
  for (const descriptor of descriptorsIn(index, "manifests", folder)) {
    const manifest = await readBlob(source, descriptor);
    const value = parse(manifest.bytes, descriptor.digest);
    const subject = textAt(fieldsOf(value).get("subject"), "digest");
    const artifactType = textAt(value, "artifactType");
    if (subject !== undefined && artifactType !== undefined) {
      const document = { ...(await imageOf(source, manifest, value)), artifactType };
      documents.set(subject, [...(documents.get(subject) ?? []), document]);
    } else if (descriptor.name !== undefined)
      images.push({ name: descriptor.name, image: await imageOrIndex(source, manifest, value) });
  }
  return { images, documents };
}

async function imageOrIndex(source: Source, manifest: Blob, value: unknown): Promise<Image | ImageIndex> {
  if (manifest.mediaType !== mediaTypes.index) return imageOf(source, manifest, value);
  const images: Image[] = [];
  for (const descriptor of descriptorsIn(value, "manifests", manifest.digest)) {
    const each = await readBlob(source, descriptor);
    images.push(await imageOf(source, each, parse(each.bytes, each.digest)));
  }
  return { manifest, images };
}

async function imageOf(source: Source, manifest: Blob, value: unknown): Promise<Image> {
  const config = descriptorOf(fieldsOf(value).get("config"), manifest.digest);
  const layers = descriptorsIn(value, "layers", manifest.digest);
  const blobs: Blob[] = [];
  for (const descriptor of [config, ...layers]) blobs.push(await readBlob(source, descriptor));
  return { manifest, blobs };
}

async function readBlob({ folder, known }: Source, { digest, mediaType }: Descriptor): Promise<Blob> {
  const before = known.get(digest);
  if (before?.mediaType === mediaType) return before;
  const path = join(folder, "blobs", ...digest.split(":"));
  const bytes = await readOrFail(path);
  const found = digestOf(bytes);
  if (found !== digest) throw new OciError(`${path} has the digest ${found}; it was changed or is not whole`);
  const blob = { digest, mediaType, bytes };
  known.set(digest, blob);
  return blob;
}

async function readOrFail(path: string): Promise<Uint8Array> {
  return readFile(path).catch((cause: unknown) => {
    throw new OciError(`${path} cannot be read; the layout is not whole`, { cause });
  });
}

async function jsonIn(path: string): Promise<unknown> {
  return parse(await readOrFail(path), path);
}

function parse(bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch (cause) {
    throw new OciError(`${what} is no JSON`, { cause });
  }
}

function descriptorsIn(value: unknown, field: string, what: string): readonly Descriptor[] {
  const list: unknown = fieldsOf(value).get(field);
  if (!Array.isArray(list)) throw new OciError(`${what}: ${field} is missing`);
  return list.map((each: unknown) => descriptorOf(each, what));
}

/** A digest becomes a path, so it must be one. */
function descriptorOf(value: unknown, what: string): Descriptor {
  const [digest, mediaType] = [textAt(value, "digest"), textAt(value, "mediaType")];
  if (digest === undefined || !/^sha256:[0-9a-f]{64}$/.test(digest) || mediaType === undefined)
    throw new OciError(
      `${what}: a descriptor has the digest ${JSON.stringify(digest)}, expected sha256:<hex>`,
    );
  const name = textAt(fieldsOf(value).get("annotations"), refName);
  return { digest, mediaType, name };
}

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>(typeof value === "object" && value !== null ? Object.entries(value) : []);
}

function textAt(value: unknown, field: string): string | undefined {
  const found = fieldsOf(value).get(field);
  return typeof found === "string" ? found : undefined;
}
