/**
 * Copies everything of a layout to a registry, by digest. Nothing is sent before the layout is known to be whole and no tag would change its
 * meaning; afterwards the registry is asked what it has.
 */
import { type Descriptor, largestManifest } from "./decode.ts";
import { OciError } from "./errors.ts";
import { digestOf, mediaTypes, type Referrer } from "./image.ts";
import { call, failure, pushImage, pushIndex, pushReferrers, type PushTarget } from "./push.ts";
import { loadFromLayout, readLayout } from "./read-layout.ts";

/** From where to where. */
export interface MirrorOptions {
  /** Of the layout. Its images are named `<name>:<tag>`. */
  readonly folder: string;
  /** Base URL, such as `https://registry.example.org`. */
  readonly registry: string;
  /** Path above the names, such as `team/klutch`; empty for none. */
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
  /** Told each image that is there now. */
  readonly say: (line: string) => void;
}

/** An image that is in the registry. */
export interface MirroredImage {
  /** Below the path. */
  readonly name: string;
  readonly tag: string;
  readonly digest: string;
}

/** An image of the layout, with the documents about it. */
interface Part extends MirroredImage {
  readonly descriptor: Descriptor;
  readonly target: PushTarget;
  /** By digest of what they are about. */
  readonly referrers: ReadonlyMap<string, readonly Referrer[]>;
}

/** Copies, and gives back what is there now. Throws `OciError`. */
export async function mirrorLayout(options: MirrorOptions): Promise<readonly MirroredImage[]> {
  const parts = await readParts(options);
  await refuseOtherContent(parts);
  for (const part of parts) {
    await push(part, options.folder);
    await confirm(part);
    options.say(`${part.name}:${part.tag}@${part.digest}`);
  }
  return parts.map(({ name, tag, digest }) => ({ name, tag, digest }));
}

/** Reads everything once, so that a broken archive changes nothing anywhere. */
async function readParts({ folder, registry, path, signal }: MirrorOptions): Promise<readonly Part[]> {
  const entries = await readLayout(folder);
  const documents: { readonly subject: string; readonly referrer: Referrer }[] = [];
  const images: { readonly descriptor: Descriptor; readonly inside: readonly string[] }[] = [];
  for (const descriptor of entries) {
    const loaded = await loadFromLayout(folder, descriptor);
    if (loaded.kind === "referrer") documents.push(loaded);
    else {
      const platforms = loaded.kind === "index" ? loaded.index.images : [];
      const inside = [descriptor.digest, ...platforms.map(({ manifest }) => manifest.digest)];
      images.push({ descriptor, inside });
    }
    signal?.throwIfAborted();
  }
  return images.map(({ descriptor, inside }) => {
    const { name, tag } = nameOf(descriptor);
    const own = documents.filter(({ subject }) => inside.includes(subject));
    return {
      name,
      tag,
      digest: descriptor.digest,
      descriptor,
      target: { registry, repository: path === "" ? name : `${path}/${name}`, tag, signal },
      referrers: new Map(
        [...Map.groupBy(own, ({ subject }) => subject)].map(([subject, all]) => [
          subject,
          all.map(({ referrer }) => referrer),
        ]),
      ),
    };
  });
}

/** Grammar of names and tags: OCI distribution specification 1.1, pulling manifests. */
function nameOf({ name: text = "", digest }: Descriptor): { readonly name: string; readonly tag: string } {
  const [, name, tag] =
    /^([a-z0-9]+(?:[._/-]+[a-z0-9]+)*):([a-zA-Z0-9_][a-zA-Z0-9._-]{0,127})$/.exec(text) ?? [];
  if (name !== undefined && tag !== undefined) return { name, tag };
  throw new OciError(`the layout calls ${digest} ${JSON.stringify(text)}, expected <name>:<tag>`);
}

/** A tag that means something else to those who use it already is not moved. */
async function refuseOtherContent(parts: readonly Part[]): Promise<void> {
  const problems: string[] = [];
  for (const { target, digest } of parts) {
    const found = await remoteDigest(target, target.tag);
    if (found !== undefined && found !== digest)
      problems.push(`${target.repository}:${target.tag} is ${found} there and ${digest} here`);
  }
  if (problems.length === 0) return;
  const registry = parts[0]?.target.registry ?? "";
  throw new OciError(
    `the registry ${registry} has other content under tags of this archive, and nothing was changed: ${problems.join("; ")}. Delete the tags there, or choose another path`,
  );
}

async function push({ descriptor, target, referrers }: Part, folder: string): Promise<void> {
  const loaded = await loadFromLayout(folder, descriptor);
  if (loaded.kind === "index") await pushIndex(loaded.index, target);
  else if (loaded.kind === "image") await pushImage(loaded.image, target);
  const manifests =
    loaded.kind === "index" ? loaded.index.images : loaded.kind === "image" ? [loaded.image] : [];
  for (const { manifest } of manifests)
    await pushReferrers(manifest, referrers.get(manifest.digest) ?? [], target);
}

/** What the registry gives for tag and digest has to be what was sent. */
async function confirm({ target, digest }: Part): Promise<void> {
  for (const reference of [target.tag, digest]) {
    const found = await remoteDigest(target, reference);
    if (found !== digest)
      throw new OciError(
        `the registry ${target.registry} took ${target.repository} and gives ${found ?? "nothing"} for ${reference}, expected ${digest}; install nothing from it`,
      );
  }
}

/** Of what the registry gives, whatever it says it is; undefined when there is nothing. */
async function remoteDigest(target: PushTarget, reference: string): Promise<string | undefined> {
  const accept = `${mediaTypes.index}, ${mediaTypes.manifest}`;
  const response = await call(target, "GET", `manifests/${reference}`, undefined, accept);
  if (response.status === 404) {
    await response.body?.cancel();
    return undefined;
  }
  if (response.status === 401 || response.status === 403)
    throw new OciError(
      `the registry ${target.registry} wants a login for ${target.repository}, which this command has none for (HTTP ${response.status}); copy the layout with a tool that logs in`,
    );
  if (response.status !== 200) throw await failure("question for a manifest", target, response);
  return digestOf(await bounded(response, target));
}

async function bounded(response: Response, { registry, repository }: PushTarget): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const body: AsyncIterable<Uint8Array> | undefined = response.body ?? undefined;
  for await (const part of body ?? []) {
    size += part.length;
    if (size > largestManifest)
      throw new OciError(`the registry ${registry} has a manifest of ${repository} with more than 4 MiB`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
