/** Edits of many app clusters, as the control plane sees them come. */
import type { KubeClient } from "@klutch/kube";
import { type DynamicObject, numberAt, type ResourceType } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { wallClock } from "./wire-log.ts";

/** One edit in each of these namespaces of the control plane: the claim of this name gets this `spec.size`. */
export interface UpstreamEdits {
  readonly type: ResourceType;
  readonly name: string;
  readonly namespaces: readonly string[];
  readonly size: number;
}

/** Returns the times at which each had come, in milliseconds since the epoch. It asks every `intervalMs`. */
export async function untilUpstream(
  client: KubeClient,
  { type, name, namespaces, size }: UpstreamEdits,
  limits: { readonly timeoutMs: number; readonly intervalMs: number },
): Promise<readonly number[]> {
  const arrived: number[] = [];
  const waiting = new Set(namespaces);
  await waitFor(
    "every edit to come through",
    async () => {
      const { items } = await client.list<DynamicObject>(type, { fieldSelector: `metadata.name=${name}` });
      for (const { metadata, spec } of items)
        if (numberAt(spec, "size") === size && waiting.delete(metadata.namespace ?? ""))
          arrived.push(wallClock());
      return waiting.size === 0;
    },
    limits,
  );
  return arrived;
}
