/** Exports whose API is revoked: the last Grant for it was deleted. The mark on the export decides, so that nothing depends on a process. */
import { type APIServiceExport, apiServiceExports, revokedAnnotation } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { falseCondition, type NewCondition } from "@klutch/kube-core";

/** Returns true for an export that gives its app cluster no rights. */
export function isRevokedExport({ metadata }: Pick<APIServiceExport, "metadata">): boolean {
  return (metadata.annotations?.[revokedAnnotation] ?? "") !== "";
}

/** Writes the mark; undefined removes it. Objects of the API stay. */
export async function markRevoked(
  client: KubeClient,
  { metadata }: APIServiceExport,
  since: string | undefined,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const { namespace = "", name = "" } = metadata;
  const patch = { metadata: { annotations: { [revokedAnnotation]: since ?? null } } };
  await client.mergePatch(apiServiceExports, { namespace, name }, patch, options);
}

/** Says on the export why nothing is synced. */
export function revokedCondition({ metadata }: APIServiceExport): NewCondition {
  const { name = "", annotations } = metadata;
  const message =
    `The platform operator revoked the access of this app cluster to ${name} at ${annotations?.[revokedAnnotation] ?? ""}. Its objects stay in the ` +
    "control plane, and are not synced. kubectl bind of this API, by a person who may bind it, gives the access back";
  return falseCondition("ProviderInSync", "Revoked", "Error", message);
}
