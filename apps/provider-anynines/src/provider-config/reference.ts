/** Reads and writes the references of managed resources to their ProviderConfigs. */
import type { Managed } from "@klutch/crossplane";
import { keyOfRef, refOf } from "@klutch/kube-core";

const defaultName = "default";

/** The name alone, which says the type of data service. */
export function bareConfigName({ spec }: Managed): string {
  return spec.providerConfigRef?.name ?? defaultName;
}

/** The key of the ProviderConfig that the managed resource names: one of its own namespace, or one of the cluster. */
export function configNameOf({ metadata, spec }: Managed): string {
  const { name = defaultName, kind } = spec.providerConfigRef ?? {};
  if (kind === "ProviderConfig" && metadata.namespace !== undefined)
    return keyOfRef({ namespace: metadata.namespace, name });
  // A slash would lead to the ProviderConfig of some namespace; no object has a key that begins with one.
  return name.includes("/") ? `/${name}` : name;
}

/** For people: kind and key of the ProviderConfig that the managed resource names. */
export function shownConfig(managed: Managed): string {
  return `${configKindOf(managed)} ${configNameOf(managed)}`;
}

/** The ProviderConfig that the managed resource names, as arguments of kubectl. */
export function configTarget(managed: Managed): string {
  const metadata = refOf(configNameOf(managed));
  return kubectlTarget({ apiVersion: managed.apiVersion, kind: configKindOf(managed), metadata });
}

/** An object of one of the provider's kinds, as arguments of kubectl. */
export function kubectlTarget(object: Pick<Managed, "apiVersion" | "kind" | "metadata">): string {
  const { apiVersion, kind, metadata } = object;
  const [group = ""] = apiVersion.split("/");
  const inNamespace = metadata.namespace === undefined ? "" : `-n ${metadata.namespace} `;
  return `${inNamespace}${kind.toLowerCase()}s.${group} ${metadata.name ?? ""}`;
}

/** The kind of the ProviderConfig that the managed resource names. */
export function configKindOf({ metadata, spec }: Managed): "ProviderConfig" | "ClusterProviderConfig" {
  if (metadata.namespace === undefined) return "ProviderConfig";
  return spec.providerConfigRef?.kind === "ProviderConfig" ? "ProviderConfig" : "ClusterProviderConfig";
}
