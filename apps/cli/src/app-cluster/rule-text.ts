/** Rules of RBAC in words. */
import type { PolicyRule } from "@klutch/kube-core";

/** `get, list on secrets`, `… on widgets.example.org/status`, or `… on secrets (only one, two)`. */
export function describeRule({
  verbs,
  resources = [],
  apiGroups = [],
  resourceNames = [],
}: PolicyRule): string {
  const group = apiGroups[0] === undefined || apiGroups[0] === "" ? "" : `.${apiGroups[0]}`;
  const names = resources.map((resource) => resource.replace(/^[^/]+/, (plural) => `${plural}${group}`));
  const only = resourceNames.length === 0 ? "" : ` (only ${resourceNames.join(", ")})`;
  return `${verbs.join(", ")} on ${names.join(", ")}${only}`;
}
