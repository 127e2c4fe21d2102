/** An APIServiceNamespace as a stranger's server gives it. Both of its names become parts of paths and of other names. */
import { isDnsLabel, recordAt } from "@klutch/kube-core";

/** A mapping that was read. */
export interface ForeignMapping {
  /** Namespace of the app cluster; absent when the object's own name is none. */
  readonly consumerNamespace?: string;
  /** The provider's answer; absent before it, and when it cannot be used. */
  readonly providerNamespace?: string;
  readonly isDeleting: boolean;
  /** Reason why it cannot be used. */
  readonly problem?: string;
}

const problem = "the provider's APIServiceNamespace does not hold valid names of namespaces";

/** Reads one. Never throws, whatever the value is. */
export function parseNamespaceMapping(object: unknown): ForeignMapping {
  const { name, deletionTimestamp } = fieldsOf(object, "metadata");
  const { namespace } = fieldsOf(object, "status");
  const isDeleting = deletionTimestamp !== undefined && deletionTimestamp !== null;
  if (typeof name !== "string" || !isDnsLabel(name)) return { isDeleting, problem };
  const mapping = { consumerNamespace: name, isDeleting };
  if (namespace === undefined || namespace === null || namespace === "") return mapping;
  return typeof namespace === "string" && isDnsLabel(namespace)
    ? { ...mapping, providerNamespace: namespace }
    : { ...mapping, problem };
}

function fieldsOf(
  object: unknown,
  part: string,
): {
  readonly name?: unknown;
  readonly namespace?: unknown;
  readonly deletionTimestamp?: unknown;
} {
  return recordAt(object, part);
}
