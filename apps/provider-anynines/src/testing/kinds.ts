/** The kinds of both scopes, for tests that hold for both. */
import { namespacedDataservicesGroup } from "@klutch/api";
import { type DynamicObject, type ObjectRef, recordAt, type ResourceType, textAt } from "@klutch/kube-core";
import { clusterScoped, type Scope, namespaced } from "../scope.ts";

/** The namespace of all claims of tests, and of namespaced objects. */
export const team = "team";

/** One scope, for a table of cases. */
export interface TestKinds {
  readonly title: string;
  readonly types: Scope;
  /** An object of the cluster-scoped kinds as this scope has it. */
  readonly of: (object: DynamicObject) => DynamicObject;
}

export const clusterScopedKinds: TestKinds = {
  title: "cluster-scoped",
  types: clusterScoped,
  of: (object) => object,
};

export const bothScopes: readonly TestKinds[] = [
  clusterScopedKinds,
  { title: "namespaced", types: namespaced, of: namespacedOf },
];

/** The object of this name, in the namespace of tests where the kind has one. */
export function refIn({ namespaced: isNamespaced }: ResourceType, name: string): ObjectRef {
  return isNamespaced ? { namespace: team, name } : { name };
}

/** The same object as a namespaced one: with the label of its composite, and without what it does not have. */
export function namespacedOf({ kind, metadata, spec: wanted }: DynamicObject): DynamicObject {
  const { writeConnectionSecretToRef, ...spec } = recordAt(wanted);
  const name = textAt(writeConnectionSecretToRef, "name");
  const { "crossplane.io/claim-namespace": _claimed, ...labels } = metadata.labels ?? {};
  return {
    apiVersion: `${namespacedDataservicesGroup}/v1`,
    kind,
    metadata: { ...metadata, namespace: team, labels },
    spec: { ...spec, ...(name === undefined ? {} : { writeConnectionSecretToRef: { name } }) },
  };
}
