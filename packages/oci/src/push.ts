/** Pushes an image to a registry (OCI distribution specification 1.1). */
import { OciError } from "./errors.ts";
import { bodyOf } from "./exchange.ts";
import { failure, type RegistryTarget, send } from "./registry-request.ts";
import {
  type Blob,
  buildReferrersIndex,
  digestOf,
  type Image,
  type ImageIndex,
  mediaTypes,
  type Referrer,
} from "./image.ts";

/** Target of a push. */
export interface PushTarget extends RegistryTarget {
  /** Or a manifest's own digest. */
  readonly tag: string;
}

/** Uploads the blobs that the registry lacks, then the manifest under the tag. Throws `OciError`. */
export async function pushImage(image: Image, target: PushTarget): Promise<void> {
  for (const part of image.blobs) await pushBlob(part, target);
  await pushManifest(image.manifest, target);
}

/** Uploads the images of all platforms, then the index under the tag. Throws `OciError`. */
export async function pushIndex(index: ImageIndex, target: PushTarget): Promise<void> {
  for (const image of index.images) await pushImage(image, { ...target, tag: image.manifest.digest });
  await pushManifest(index.manifest, target);
}

/**
 * Uploads documents about `subject`, which is there already. A registry that keeps no list of them by itself gets it under the tag that the
 * specification names for this ("referrers tag schema"). Throws `OciError`.
 */
export async function pushReferrers(
  subject: Blob,
  referrers: readonly Referrer[],
  target: Omit<PushTarget, "tag">,
): Promise<void> {
  let isListed = true;
  for (const referrer of referrers) {
    const at = { ...target, tag: referrer.manifest.digest };
    for (const part of referrer.blobs) await pushBlob(part, at);
    const { headers } = await pushManifest(referrer.manifest, at);
    isListed &&= headers.has("oci-subject");
  }
  if (isListed) return;
  await pushManifest(buildReferrersIndex(referrers), { ...target, tag: subject.digest.replace(":", "-") });
}

/** Digest of what the registry has under the tag, by its bytes; undefined when there is nothing. Throws `OciError`. */
export async function digestInRegistry(target: PushTarget): Promise<string | undefined> {
  const accept = [mediaTypes.index, mediaTypes.manifest].join(", ");
  const url = `${target.registry}/v2/${target.repository}/manifests/${target.tag}`;
  const response = await send(url, { method: "GET", headers: { accept } }, target);
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw await failure("question for the tag", target, response);
  return digestOf(await manifestOf(response, target));
}

/** The largest manifest that is read, in bytes (OCI distribution specification 1.1, pushing manifests). */
const largestManifest = 4 * 1024 * 1024;

async function manifestOf(response: Response, { registry, repository }: PushTarget): Promise<Uint8Array> {
  const bytes = await bodyOf(response, largestManifest);
  if (bytes === undefined)
    throw new OciError(`the registry ${registry} has a manifest of ${repository} with more than 4 MiB`);
  return bytes;
}

async function pushManifest(manifest: Blob, target: PushTarget): Promise<Response> {
  const response = await call(target, "PUT", `manifests/${target.tag}`, manifest);
  if (response.status !== 201) throw await failure("manifest", target, response);
  return response;
}

async function pushBlob(part: Blob, target: PushTarget): Promise<void> {
  const present = await call(target, "HEAD", `blobs/${part.digest}`);
  if (present.status === 200) return;
  const started = await call(target, "POST", "blobs/uploads/");
  const location = started.headers.get("location");
  if (started.status !== 202 || location === null) throw await failure("upload", target, started);
  if (!URL.canParse(location, target.registry))
    throw new OciError(
      `the registry ${target.registry} wants the upload of ${target.repository} at ${JSON.stringify(location.slice(0, 200))}, which is no URL`,
    );
  const url = new URL(location, target.registry);
  url.searchParams.set("digest", part.digest);
  const response = await send(url.href, upload("PUT", part), target);
  if (response.status !== 201) throw await failure("blob", target, response);
}

function call(target: PushTarget, method: string, path: string, body?: Blob): Promise<Response> {
  return send(`${target.registry}/v2/${target.repository}/${path}`, upload(method, body), target);
}

function upload(method: string, body: Blob | undefined): RequestInit {
  if (body === undefined) return { method };
  return { method, body: Uint8Array.from(body.bytes), headers: { "content-type": body.mediaType } };
}
