/** Decides which APIs may be shared, with the same rule for offering, binding and syncing one. */
import { isDnsLabel, maxLabelLength, maxSubdomainLength } from "@klutch/kube-core";
import { bindGroup } from "../names.ts";

const resourceLabel = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
/** Groups of Kubernetes itself; every other one of it is a single word. */
const kubernetesDomains: readonly string[] = ["k8s.io", "kubernetes.io"];

/**
 * Returns why the resource `plural` of `group` may not be shared, as a sentence for a person; undefined if it may. The group must
 * contain a dot and belong to neither Kubernetes nor Klutch: any other API already has a meaning in each cluster.
 */
export function checkApiName(group: string, plural: string): string | undefined {
  const name = `resource ${quoted(plural)} of group ${quoted(group)}`;
  if (plural.length > maxLabelLength || !resourceLabel.test(plural))
    return `${name} cannot be shared as an API: a resource is named by a DNS label of at most ${maxLabelLength} characters, such as "widgets"`;
  const labels = group.split(".");
  if (group.length > maxSubdomainLength || !labels.every(isDnsLabel)) {
    const what = group === "" ? "it is built into Kubernetes" : "the group is not a DNS name";
    return `${name} cannot be shared as an API: ${what}`;
  }
  if (labels.length < 2)
    return `${name} cannot be shared as an API: groups without a dot are Kubernetes' own`;
  const owner = isBuiltInGroup(group) ? "Kubernetes" : isWithin(group, bindGroup) ? "Klutch" : undefined;
  return owner === undefined
    ? undefined
    : `${name} cannot be shared as an API: the group belongs to ${owner}`;
}

/** Returns true if Kubernetes owns the API group: the core group, `apps` and the like, and all groups in its domains. */
export function isBuiltInGroup(group: string): boolean {
  return !group.includes(".") || kubernetesDomains.some((domain) => isWithin(group, domain));
}

function isWithin(group: string, domain: string): boolean {
  return group === domain || group.endsWith(`.${domain}`);
}

/** Checks the name `<plural>.<group>` of a binding, an export or a CustomResourceDefinition, as `checkApiName` does. */
export function checkApiFullName(name: string): string | undefined {
  const dot = name.indexOf(".");
  return dot < 0 ? checkApiName("", name) : checkApiName(name.slice(dot + 1), name.slice(0, dot));
}

function quoted(text: string): string {
  return JSON.stringify(text.length > maxSubdomainLength ? `${text.slice(0, maxSubdomainLength)}…` : text);
}
