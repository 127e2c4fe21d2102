/** What may be an API that a provider offers: decided here once, for everybody who hears a name from the other side. No I/O. */
import { bindGroup } from "./names.ts";

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const pluralPattern = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const maxLabelLength = 63;
const maxNameLength = 253;

/** Groups whose kinds steer Klutch itself, those of its predecessors included. */
const ownGroups = [bindGroup, "bind.anynines.com", "kube-bind.io"];
/** Groups that only the Kubernetes project hands out. */
const kubernetesGroups = ["k8s.io", "kubernetes.io"];

/**
 * Why a provider may not offer the API `<plural>.<group>`, as a sentence that shows foreign text only quoted; undefined when it may.
 * Refused are names that are no DNS names, wildcards, the core group, groups without a dot, and those of Kubernetes and of Klutch.
 */
export function checkApiName(group: string, plural: string): string | undefined {
  if (!pluralPattern.test(plural) || plural.length > maxLabelLength) {
    return `${quoted(plural)} is not the plural name of a resource; it must be a DNS label such as widgets.`;
  }
  if (group === "") {
    return `${plural} has no group, so it belongs to Kubernetes; a provider may only offer APIs of its own group, such as ${plural}.example.org.`;
  }
  const name = `${plural}.${group}`;
  const labels = group.split(".");
  if (
    labels.some((part) => !label.test(part) || part.length > maxLabelLength) ||
    name.length > maxNameLength
  ) {
    return `${quoted(group)} is not an API group; it must be a DNS name such as example.org.`;
  }
  if (labels.length < 2) {
    return `${name} is refused: the group ${group} has no dot, and such groups belong to Kubernetes.`;
  }
  if (isWithin(group, kubernetesGroups))
    return `${name} is refused: the group ${group} belongs to Kubernetes.`;
  if (isWithin(group, ownGroups)) return `${name} is refused: the group ${group} belongs to Klutch itself.`;
  return undefined;
}

/** Whether a group belongs to Kubernetes or to Klutch, so that no provider speaks for it. The core group included. */
export function isReservedGroup(group: string): boolean {
  return !group.includes(".") || isWithin(group, kubernetesGroups) || isWithin(group, ownGroups);
}

function isWithin(group: string, roots: readonly string[]): boolean {
  return roots.some((root) => group === root || group.endsWith(`.${root}`));
}

const maxQuoted = 80;

function quoted(text: string): string {
  const short = text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text;
  // Only printable ASCII stays as it is, so the sentence can go to a terminal or a log.
  return JSON.stringify(short).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
