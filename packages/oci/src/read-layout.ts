/** Reads an image back from a folder (OCI image layout 1.0.0), which may have come from elsewhere: every blob is held against its digest. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { OciError } from "./errors.ts";
import { type Blob, digestOf, type Image, type ImageIndex, mediaTypes } from "./image.ts";

/** The image or index that the layout has under the name. Throws `OciError` when there is none, or when a blob is not what it is called. */
export async function readLayout(folder: string, name: string): Promise<Image | ImageIndex> {
  const manifests = listAt(await readJson(join(folder, "index.json")), "manifests");
  const found = manifests.find((each) => nameOf(each) === name);
  if (found === undefined) throw new OciError(`the OCI layout ${folder} has no image with the name ${name}`);
  return readAny(folder, found);
}

async function readAny(folder: string, descriptor: unknown): Promise<Image | ImageIndex> {
  const manifest = await readBlob(folder, descriptor);
  if (manifest.mediaType !== mediaTypes.index) return readImage(folder, manifest);
  const images = listAt(parse(manifest), "manifests").map(async (each) =>
    readImage(folder, await readBlob(folder, each)),
  );
  return { manifest, images: await Promise.all(images) };
}

async function readImage(folder: string, manifest: Blob): Promise<Image> {
  const parsed = parse(manifest);
  const descriptors = [fieldOf(parsed, "config"), ...listAt(parsed, "layers")];
  return { manifest, blobs: await Promise.all(descriptors.map((each) => readBlob(folder, each))) };
}

async function readBlob(folder: string, descriptor: unknown): Promise<Blob> {
  const [digest, mediaType] = ["digest", "mediaType"].map((name) => fieldOf(descriptor, name));
  // Anything else could be a path out of the folder.
  if (typeof digest !== "string" || !/^sha256:[0-9a-f]{64}$/.test(digest) || typeof mediaType !== "string")
    throw new OciError(`the OCI layout ${folder} names a blob without a sha256 digest and a media type`);
  const bytes = await readPart(join(folder, "blobs", ...digest.split(":")));
  if (digestOf(bytes) !== digest)
    throw new OciError(
      `the OCI layout ${folder} is damaged: the blob ${digest} has the digest ${digestOf(bytes)}`,
    );
  return { digest, mediaType, bytes };
}

async function readJson(path: string): Promise<unknown> {
  return parse({ digest: path, bytes: await readPart(path) });
}

async function readPart(path: string): Promise<Uint8Array> {
  return readFile(path).catch((cause: unknown) => {
    throw new OciError(`${path} of an OCI layout cannot be read`, { cause });
  });
}

function parse({ digest, bytes }: Pick<Blob, "digest" | "bytes">): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch (cause) {
    throw new OciError(`${digest} of an OCI layout is no JSON`, { cause });
  }
}

function nameOf(descriptor: unknown): unknown {
  return fieldOf(fieldOf(descriptor, "annotations"), "org.opencontainers.image.ref.name");
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const list = fieldOf(value, name);
  return Array.isArray(list) ? list : [];
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;
}
