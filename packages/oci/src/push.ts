/** Pushes an image to a registry (OCI distribution specification 1.1). */
import { OciError } from "./errors.ts";
import { type Blob, buildReferrersIndex, type Image, type ImageIndex, type Referrer } from "./image.ts";

/** Where to. */
export interface PushTarget {
  /** Base URL, such as `http://127.0.0.1:5000`. */
  readonly registry: string;
  /** Path of the repository, such as `klutch/function-klutch`. */
  readonly repository: string;
  /** Or a manifest's own digest. */
  readonly tag: string;
  readonly signal?: AbortSignal | undefined;
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
  const url = new URL(location, target.registry);
  url.searchParams.set("digest", part.digest);
  const response = await send(url.href, "PUT", part, target.signal);
  if (response.status !== 201) throw await failure("blob", target, response);
}

/** Asks for something of the repository. Throws `OciError` when nobody answers. */
export function call(
  target: PushTarget,
  method: string,
  path: string,
  body?: Blob,
  accept?: string,
): Promise<Response> {
  const url = `${target.registry}/v2/${target.repository}/${path}`;
  return send(url, method, body, target.signal, accept);
}

async function send(
  url: string,
  method: string,
  body: Blob | undefined,
  signal: AbortSignal | undefined,
  accept?: string,
): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      ...(signal === undefined ? {} : { signal }),
      ...(accept === undefined ? {} : { headers: { accept } }),
      ...(body === undefined
        ? {}
        : { body: Uint8Array.from(body.bytes), headers: { "content-type": body.mediaType } }),
    });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new OciError(`the registry at ${new URL(url).origin} cannot be reached`, { cause });
  }
}

/** The refusal in words, with the beginning of what the registry says. */
export async function failure(what: string, target: PushTarget, response: Response): Promise<OciError> {
  const text = (await response.text()).slice(0, 300);
  return new OciError(
    `the registry ${target.registry} refused the ${what} of ${target.repository}:${target.tag}: HTTP ${response.status} ${text}`,
  );
}
