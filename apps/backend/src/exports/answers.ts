/** The app cluster's answers to the permission claims of an export. */
import { type APIServiceExport, apiServiceExports, rejectedClaimsAnnotation } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";

/** Puts the answers to the claims onto an export: `rejected` as `rejectedClaims` gives it. */
export async function ensureAnswers(
  client: KubeClient,
  { metadata }: APIServiceExport,
  rejected: string | undefined,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const { namespace = "", name = "", annotations } = metadata;
  if (annotations?.[rejectedClaimsAnnotation] === rejected) return;
  const patch = { metadata: { annotations: { [rejectedClaimsAnnotation]: rejected ?? null } } };
  await client.mergePatch(apiServiceExports, { namespace, name }, patch, options);
}
