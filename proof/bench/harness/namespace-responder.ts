/** Answers APIServiceNamespaces as the backend's controller does: makes the service namespace and fills the status. */
import {
  apiServiceNamespaces,
  serviceNamespaceAnnotation,
  serviceNamespaceName,
  serviceNamespaceOwner,
} from "@klutch/api";
import { type DynamicObject, isRecord, namespaces } from "@klutch/kube-core";
import { isAlreadyExists, type KubeClient } from "@klutch/kube";
import type { BenchApi } from "./api.ts";
import { clusterNamespace } from "./provider-side.ts";

/** Starts answering; dispose it to stop. Deletions are not answered. */
export async function startNamespaceResponder(client: KubeClient, api: BenchApi): Promise<AsyncDisposable> {
  const abort = new AbortController();
  const scope = { namespace: clusterNamespace };
  const answers = new Set<Promise<void>>();
  const answer = (object: DynamicObject): void => {
    if (isRecord(object.status) && typeof object.status["namespace"] === "string") return;
    const { name = "" } = object.metadata;
    const answering = serve(api, name).finally(() => answers.delete(answering));
    answers.add(answering);
  };
  const { items, resourceVersion } = await client.list<DynamicObject>(apiServiceNamespaces, scope);
  for (const item of items) answer(item);
  const follow = async (): Promise<void> => {
    let from = resourceVersion;
    while (!abort.signal.aborted) {
      const events = client.watch<DynamicObject>(apiServiceNamespaces, {
        ...scope,
        resourceVersion: from,
        signal: abort.signal,
      });
      for await (const event of events) {
        from =
          event.type === "BOOKMARK" ? event.resourceVersion : (event.object.metadata.resourceVersion ?? from);
        if (event.type === "ADDED") answer(event.object);
      }
    }
  };
  const following = follow().catch((error: unknown) => {
    if (!abort.signal.aborted) throw error;
  });
  return {
    async [Symbol.asyncDispose]() {
      abort.abort();
      await following;
      await Promise.all(answers);
    },
  };
}

async function serve(api: BenchApi, consumerNamespace: string): Promise<void> {
  const name = serviceNamespaceName(clusterNamespace, consumerNamespace);
  const annotations = {
    [serviceNamespaceAnnotation]: serviceNamespaceOwner(clusterNamespace, consumerNamespace),
  };
  try {
    await api.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name, annotations } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const mapping = { namespace: clusterNamespace, name: consumerNamespace };
  await api.patch(apiServiceNamespaces, mapping, { status: { namespace: name } }, "status");
}
