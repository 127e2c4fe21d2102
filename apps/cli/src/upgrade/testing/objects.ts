/** Objects that tests of the check put into clusters. */
import { clusterBindingName, clusterBindings, consumerNamespace } from "@klutch/api";
import {
  deployments,
  type DynamicObject,
  leases,
  microTime,
  namespaces,
  type ObjectRef,
  wholeSeconds,
} from "@klutch/kube-core";
import { type KubeClient, systemClock } from "@klutch/kube";
import { namespaceObject } from "@klutch/kube-testing";

/** Returns a Deployment with this image whose replicas are all available. */
export async function deploy(
  client: KubeClient,
  ref: ObjectRef,
  image: string,
  available = 2,
): Promise<void> {
  const labels = { app: ref.name };
  const spec = { containers: [{ name: ref.name, image }] };
  await client.create<DynamicObject>(deployments, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: ref,
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
  const status = { replicas: available, readyReplicas: available, availableReplicas: available };
  await client.mergePatch(deployments, ref, { status }, { subresource: "status" });
}

/** A cluster namespace with a ClusterBinding whose konnector has just been heard of. */
export async function tenant(
  client: KubeClient,
  namespace: string,
  annotations: Readonly<Record<string, string>>,
  status: object = {},
): Promise<void> {
  await client.create(namespaces, namespaceObject(namespace, annotations));
  await client.create<DynamicObject>(clusterBindings, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata: { namespace, name: clusterBindingName },
    spec: { kubeconfigSecretRef: { name: "kubeconfig", key: "kubeconfig" }, providerPrettyName: "Test" },
  });
  await heard(client, namespace, status);
}

/** Reports as the konnector of this namespace. */
export async function heard(client: KubeClient, namespace: string, status: object = {}): Promise<void> {
  const fresh = {
    lastHeartbeatTime: wholeSeconds(systemClock.now()),
    heartbeatInterval: "5m0s",
    konnectorVersion: "v1.6.0",
  };
  const ref = { namespace, name: clusterBindingName };
  const options = { subresource: "status" };
  await client.mergePatch(clusterBindings, ref, { status: { ...fresh, ...status } }, options);
}

/** Holds the konnector's lease for ten minutes. */
export async function holdLease(client: KubeClient, holderIdentity: string): Promise<void> {
  const now = microTime(systemClock.now());
  await client.create<DynamicObject>(leases, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: consumerNamespace, name: consumerNamespace },
    spec: { holderIdentity, leaseDurationSeconds: 600, renewTime: now, acquireTime: now },
  });
}
