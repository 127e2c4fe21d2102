/** Has Kubernetes hold the Pods of tenants' namespaces against the Pod Security Standard `restricted`. */
import {
  appClusterBindingAnnotation,
  identityAnnotation,
  podSecurityLabel,
  podSecurityLevel,
  serviceNamespaceAnnotation,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { type KubeObject, namespaces } from "@klutch/kube-core";

/** Labels of a new namespace. */
export const podSecurity: Readonly<Record<string, string>> = { [podSecurityLabel]: podSecurityLevel };

const marks = [identityAnnotation, serviceNamespaceAnnotation, appClusterBindingAnnotation];

/** Adds the label to a tenant's namespace of an earlier release. An existing level stays: an operator chose it. */
export async function ensurePodSecurity(
  client: KubeClient,
  { metadata }: KubeObject,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const { labels = {}, annotations = {}, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined || labels[podSecurityLabel] !== undefined) return;
  if (!marks.some((mark) => annotations[mark] !== undefined)) return;
  const patch = { metadata: { uid: metadata.uid, labels: podSecurity } };
  await client.mergePatch(namespaces, { name: metadata.name ?? "" }, patch, options);
}
