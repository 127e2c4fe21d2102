/** Rules of RBAC in words. */
import type { PolicyRule } from "@klutch/api";

/** `get, list on secrets`, or `… on widgets.example.org/status`. */
export function describeRule({ verbs, resources = [], apiGroups = [] }: PolicyRule): string {
  const group = apiGroups[0] === undefined || apiGroups[0] === "" ? "" : `.${apiGroups[0]}`;
  const names = resources.map((resource) => resource.replace(/^[^/]+/, (plural) => `${plural}${group}`));
  return `${verbs.join(", ")} on ${names.join(", ")}`;
}
