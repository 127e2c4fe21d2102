/**
 * Finds objects of which a konnector in Go would make a second, empty one: it names cluster-scoped objects `<cluster namespace>-<name>` under
 * every isolation, and ours names new ones as their claims under isolation None (packages/sync/src/cluster-scoped.ts).
 */
import type { APIServiceBinding } from "@klutch/api";
import type { ResourceType } from "@klutch/kube-core";
import { listMetadata, servedResource } from "../app-cluster/bound-resource.ts";
import { type Consumer, connectProvider, secretKubeconfig } from "../clusters.ts";
import { errorText } from "../errors.ts";
import { counted, named } from "../findings.ts";

/** Limits of the reads. */
interface ReadOptions {
  readonly signal: AbortSignal;
  readonly requestTimeoutMs: number | undefined;
}

/** Returns why the API cannot go to a konnector in Go, in words; undefined if nothing stands against it. */
export async function obstacleOfNames(
  consumer: Consumer,
  binding: APIServiceBinding,
  options: ReadOptions,
): Promise<string | undefined> {
  const { signal } = options;
  const { name = "" } = binding.metadata;
  const type = await servedResource(consumer, name, signal);
  if (type === undefined || type.namespaced) return undefined;
  const claims = (await listMetadata(consumer, type, signal)).map(({ metadata }) => metadata.name ?? "");
  if (claims.length === 0) return undefined;
  try {
    const taken = await namesAtProvider(consumer, binding, type, options);
    const plain = claims.filter((claim) => taken.has(claim)).toSorted();
    if (plain.length === 0) return undefined;
    return `${name}: ${counted(plain.length, "object")} with the name of the claim: ${named(plain)}`;
  } catch (error) {
    signal.throwIfAborted();
    return `${name}: the names of ${counted(claims.length, "object")} in the control plane cannot be read: ${errorText(error)}`;
  }
}

async function namesAtProvider(
  consumer: Consumer,
  { spec }: APIServiceBinding,
  type: ResourceType,
  { signal, requestTimeoutMs }: ReadOptions,
): Promise<ReadonlySet<string>> {
  const { text, origin } = await secretKubeconfig(consumer, spec.kubeconfigSecretRef, signal);
  await using provider = connectProvider(text, origin, { requestTimeoutMs });
  const objects = await Array.fromAsync(provider.client.listAll(type, { metadataOnly: true, signal }));
  return new Set(objects.map(({ metadata }) => metadata.name ?? ""));
}
