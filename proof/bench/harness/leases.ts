/** The agent's lease, whatever it is called. */
import type { KubeClient } from "@klutch/kube";
import { type KubeObject, leases } from "@klutch/kube-core";

/** Deletes every lease that is not an API server's own, so that the next agent need not wait for the last one's to expire. */
export async function freeLeases(client: KubeClient): Promise<void> {
  for await (const { metadata } of client.listAll<KubeObject>(leases)) {
    const { namespace, name = "" } = metadata;
    if (!name.startsWith("apiserver-")) await client.delete(leases, { namespace, name });
  }
}
