/** Pods that a chart's Deployment runs. */
import type { KubeClient } from "@klutch/kube";
import { conditionsOf, type DynamicObject, isTrue, pods } from "@klutch/kube-core";

/** Returns the ready Pods of the namespace that are not being deleted. */
export async function listReadyPods(
  client: KubeClient,
  namespace: string,
): Promise<readonly DynamicObject[]> {
  const { items } = await client.list<DynamicObject>(pods, { namespace });
  return items.filter(
    (pod) => pod.metadata.deletionTimestamp === undefined && isTrue(conditionsOf(pod), "Ready"),
  );
}
