/** The mistake of a wrong kubeconfig or context: a control plane that would be bound to itself. */
import { controlPlaneIdOf, printable } from "@klutch/api";
import { clusterUid, type Consumer } from "../clusters.ts";
import { CliError, nothingChanged } from "../errors.ts";
import type { ProviderDescription } from "./provider.ts";

/**
 * Throws when the provider's id is that of this cluster. The id is the provider's word, so it only refuses: without one, with a wrong
 * one, or without the right to read kube-system, the command goes on, and later checks refuse the APIs that this cluster defines.
 */
export async function refuseControlPlane(
  { client, place }: Consumer,
  { controlPlaneId, prettyName, url }: ProviderDescription,
  signal: AbortSignal,
): Promise<void> {
  if (controlPlaneId === undefined) return;
  const uid = await clusterUid(client, signal);
  if (uid === undefined || controlPlaneIdOf(uid) !== controlPlaneId) return;
  throw new CliError(
    "Conflict",
    `${place} is the control plane of ${printable(prettyName || url)} itself. Pass --context or --kubeconfig of the app cluster that should use its APIs. ${nothingChanged}`,
  );
}
