/** Builds the common part of all managed resources of provider-anynines, in either generation. */
import { claimNameLabel, claimNamespaceLabel, namespacedDataservicesGroup } from "@klutch/api";
import type { Json } from "@klutch/crossplane";
import { apiVersionOf, type ResourceType, textAt, valueAt } from "@klutch/kube-core";

/** Whose a composite is. */
export interface ClaimIdentity {
  readonly name: string;
  readonly namespace: string;
  /** The claim is the composite itself. It can compose only namespaced kinds, and only in its own namespace. */
  readonly isComposite: boolean;
}

/**
 * A namespaced composite is its own claim, whatever its labels say: people write them. The claim of a legacy one is told by the labels that
 * Crossplane puts on it. Undefined when there is neither.
 */
export function claimOf(composite: Json): ClaimIdentity | undefined {
  const metadata = valueAt(composite, "metadata");
  const own = identityOf(textAt(metadata, "name"), textAt(metadata, "namespace"), true);
  if (own !== undefined) return own;
  const labels = valueAt(metadata, "labels");
  return identityOf(textAt(labels, claimNameLabel), textAt(labels, claimNamespaceLabel), false);
}

function identityOf(
  name: string | undefined,
  namespace: string | undefined,
  isComposite: boolean,
): ClaimIdentity | undefined {
  return name === undefined || namespace === undefined ? undefined : { name, namespace, isComposite };
}

/** Labels of what belongs to the claim. */
export function claimLabels(claim: ClaimIdentity): Readonly<Record<string, string>> {
  return { [claimNameLabel]: claim.name, [claimNamespaceLabel]: claim.namespace };
}

/** The parts that differ between the kinds. */
interface Parts {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly forProvider: Json;
  /** Name of a ProviderConfig, for a namespaced kind of a ClusterProviderConfig. */
  readonly providerConfig: string;
  /** Name of the Secret that it writes into the claim's namespace. Default: none. */
  readonly secretName?: string | undefined;
}

/** Returns `apiVersion` and `kind` of the composed resource: for a namespaced composite the namespaced kind of the same name. */
function composedType({ isComposite }: ClaimIdentity, type: ResourceType): Json {
  const own = isComposite ? { ...type, group: namespacedDataservicesGroup } : type;
  return { apiVersion: apiVersionOf(own), kind: type.kind };
}

/** The managed resource of a kind. */
export function managedResource(claim: ClaimIdentity, type: ResourceType, parts: Parts): Json {
  const { namespace, isComposite } = claim;
  const { labels, annotations, forProvider, providerConfig, secretName } = parts;
  const secret = isComposite ? { name: secretName } : { namespace, name: secretName };
  return {
    ...composedType(claim, type),
    metadata: {
      ...(isComposite ? { namespace } : {}),
      labels: { ...claimLabels(claim), ...labels },
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: {
      forProvider,
      providerConfigRef: {
        ...(isComposite ? { kind: "ClusterProviderConfig" } : {}),
        name: providerConfig,
      },
      ...(secretName === undefined ? {} : { writeConnectionSecretToRef: secret }),
    },
  };
}
