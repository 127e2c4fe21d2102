/** Names of a tenant for people, as annotations of its ClusterBinding, where kubectl shows them. They are shown, and never compared. */
import {
  boundByAnnotation,
  type ClusterBinding,
  clusterBindings,
  clusterNameAnnotation,
  loginWayAnnotation,
} from "@klutch/api";
import { refOfObject } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import type { Asker } from "../audit/audit.ts";

/** Writes the names of the last login, and its way. A name that it did not bring stays, because existing plugins send none. */
export async function rememberNames(
  client: KubeClient,
  binding: ClusterBinding,
  login: {
    readonly clusterName?: string | undefined;
    readonly displayName?: string | undefined;
    readonly client?: string | undefined;
    readonly proof?: { readonly confirms: boolean } | undefined;
    readonly way?: Asker["way"];
  },
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const present = binding.metadata.annotations ?? {};
  const changes = [
    [clusterNameAnnotation, login.clusterName] as const,
    [boundByAnnotation, login.displayName] as const,
    [loginWayAnnotation, wayOf(login)] as const,
  ].filter(([key, name]) => name !== undefined && present[key] !== name);
  if (changes.length === 0) return;
  const patch = { metadata: { annotations: Object.fromEntries(changes) } };
  await client.mergePatch(clusterBindings, refOfObject(binding), patch, options);
}

function wayOf({ client, proof, way }: Parameters<typeof rememberNames>[2]): string {
  if (way === "token") return way;
  if (client !== undefined) return "ci";
  if (way === "session") return way;
  return proof?.confirms === true ? "confirmed" : "redirect";
}
