/**
 * Reads from a control plane's RBAC who may bind which APIServiceExportTemplate. The check sends GET requests only, so it cannot ask by
 * SubjectAccessReview as the backend does; it knows RBAC, and no other authorizer of the API server.
 */
import { templateGroup } from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  type DynamicObject,
  keyOf,
  listAt,
  roleBindings,
  recordsAt,
  roles,
  textAt,
} from "@klutch/kube-core";
import type { ClusterReader } from "./reader.ts";

/** A person as RBAC names them. */
export interface User {
  readonly user: string;
  readonly groups: readonly string[];
}

/** A template by its place. */
export interface TemplateRef {
  readonly namespace: string;
  readonly name: string;
}

/** Returns true if the person may bind the template. */
export type MayBind = (user: User, template: TemplateRef) => boolean;

/** The roles and bindings of a cluster. */
export interface RbacObjects {
  readonly roles: readonly DynamicObject[];
  readonly clusterRoles: readonly DynamicObject[];
  readonly roleBindings: readonly DynamicObject[];
  readonly clusterRoleBindings: readonly DynamicObject[];
}

/** One right of a user or a group. */
interface Right {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  /** Names of templates; empty for all. */
  readonly names: readonly string[];
}

/** Group that the API server and the backend give to each person who logs in. */
const authenticated = "system:authenticated";

/** Reads the roles and bindings. */
export async function readRbac(reader: ClusterReader): Promise<RbacObjects> {
  return {
    roles: await reader.list(roles),
    clusterRoles: await reader.list(clusterRoles),
    roleBindings: await reader.list(roleBindings),
    clusterRoleBindings: await reader.list(clusterRoleBindings),
  };
}

/** Creates the answers. A binding whose role is missing gives no right, and neither does an odd object. */
export function mayBindBy(rbac: RbacObjects): MayBind {
  const rightsOf = new Map<string, Right[]>();
  const bindingsByRole = [...rbac.clusterRoleBindings, ...rbac.roleBindings];
  const namesOf = rulesByRole(rbac);
  for (const binding of bindingsByRole) {
    const { namespace } = binding.metadata;
    const allowed = namesOf.get(roleKeyOf(binding)) ?? [];
    for (const subject of allowed.length === 0 ? [] : recordsAt(binding, "subjects")) {
      const key = `${textAt(subject, "kind") ?? ""} ${textAt(subject, "name") ?? ""}`;
      const rights = allowed.map((names) => ({ namespace, names }));
      rightsOf.set(key, [...(rightsOf.get(key) ?? []), ...rights]);
    }
  }
  return ({ user, groups }, { namespace, name }) => {
    const keys = [`User ${user}`, ...[...groups, authenticated].map((group) => `Group ${group}`)];
    return keys
      .flatMap((key) => rightsOf.get(key) ?? [])
      .some(
        (right) =>
          (right.namespace === undefined || right.namespace === namespace) &&
          (right.names.length === 0 || right.names.includes(name)),
      );
  };
}

/** Names of templates in each rule with the right, by role: `ClusterRole <name>` or `Role <namespace>/<name>`. */
function rulesByRole(rbac: RbacObjects): ReadonlyMap<string, readonly (readonly string[])[]> {
  const found = new Map<string, readonly (readonly string[])[]>();
  for (const [kind, list] of [
    ["ClusterRole", rbac.clusterRoles],
    ["Role", rbac.roles],
  ] as const)
    for (const role of list) {
      const allowed = recordsAt(role, "rules").filter(givesBind).map(resourceNamesOf);
      if (allowed.length > 0) found.set(`${kind} ${keyOf(role)}`, allowed);
    }
  return found;
}

/** A role that names templates which do not exist. */
export interface UnknownTemplates {
  /** `ClusterRole <name>` or `Role <namespace>/<name>`. */
  readonly role: string;
  readonly names: readonly string[];
}

/** Returns them in the order of the roles. A Role counts in its own namespace only. */
export function unknownTemplatesIn(
  rbac: RbacObjects,
  templates: readonly TemplateRef[],
): readonly UnknownTemplates[] {
  const everywhere = new Set(templates.map(({ name }) => name));
  const exact = new Set(templates.map(({ namespace, name }) => `${namespace}/${name}`));
  return [...rulesByRole(rbac)].flatMap(([role, rules]) => {
    const namespace = role.startsWith("Role ") ? role.slice("Role ".length).split("/")[0] : undefined;
    const exists = (name: string): boolean =>
      namespace === undefined ? everywhere.has(name) : exact.has(`${namespace}/${name}`);
    const names = [...new Set(rules.flat())].filter((name) => !exists(name));
    return names.length === 0 ? [] : [{ role, names }];
  });
}

function roleKeyOf(binding: DynamicObject): string {
  const kind = textAt(binding, "roleRef", "kind") ?? "";
  const name = textAt(binding, "roleRef", "name") ?? "";
  return kind === "Role" ? `Role ${binding.metadata.namespace ?? ""}/${name}` : `${kind} ${name}`;
}

function givesBind(rule: Readonly<Record<string, unknown>>): boolean {
  const has = (field: string, value: string): boolean =>
    listAt(rule, field).some((one) => one === value || one === "*");
  return (
    has("apiGroups", templateGroup) && has("resources", "apiserviceexporttemplates") && has("verbs", "bind")
  );
}

function resourceNamesOf(rule: Readonly<Record<string, unknown>>): readonly string[] {
  return listAt(rule, "resourceNames").filter((name) => typeof name === "string");
}
