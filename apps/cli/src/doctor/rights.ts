/** The konnector's rights as the app cluster has them, and their repair. */
import {
  type APIServiceBinding,
  bindingRoleName,
  consumerNamespace,
  konnectorName,
  konnectorPolicyName,
  type Manifest,
} from "@klutch/api";
import {
  clusterRoleBindings,
  clusterRoles,
  keyOfRef,
  type PolicyRule,
  type Role,
  type RoleBinding,
  roleBindings,
  roles,
} from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { applyManifests } from "../app-cluster/konnector.ts";
import { confineKonnector, policyState } from "../app-cluster/confinement.ts";
import { type Finding, ok, note, problem, type Section } from "./diagnosis.ts";
import { counted } from "../findings.ts";
import {
  bindsKonnector,
  expectedManifests,
  gapsOf,
  type Grant,
  sameRights,
  surplusOf,
  wildcardsIn,
} from "../app-cluster/rights.ts";
import { hasLiveKonnector, type Home } from "../app-cluster/home.ts";
import { findLeftRoles } from "../app-cluster/left-roles.ts";
import { removeRole } from "../app-cluster/binding-role.ts";

/** Findings about the konnector's rights, and the repair. */
export interface RightsReport {
  readonly section: Section;
  /** Names of ClusterRole and ClusterRoleBinding of APIs that are no longer bound. */
  readonly gone: readonly string[];
  /** Roles and role bindings of Klutch that are missing or differ. */
  readonly drifted: readonly Manifest[];
  /** The admission policy behind the roles. */
  readonly policy: Awaited<ReturnType<typeof policyState>>;
}

const title = "Rights of the konnector";
const rolePrefix = bindingRoleName("");

/** Compares. `bindings` undefined: the kind is not served, then nothing is said about roles of single APIs. */
export async function checkRights(
  context: CliContext,
  consumer: Consumer,
  bindings: readonly APIServiceBinding[] | undefined,
  home: Home,
): Promise<RightsReport> {
  if (isRemoved(home, bindings ?? [])) return leftovers(context, consumer, home);
  const { grants, clusterRoleNames, allRoles } = await readGrants(context, consumer);
  const isInstalled = grants.length > 0 || (bindings ?? []).length > 0;
  if (!isInstalled) {
    const text = "Nothing gives the konnector's account any rights: no konnector is installed here.";
    return { section: { title, findings: [note(text)] }, gone: [], drifted: [], policy: "unserved" };
  }
  const present = bindings ?? [];
  const bound = new Set(present.map(({ metadata }) => bindingRoleName(metadata.name ?? "")));
  const gone =
    bindings === undefined
      ? []
      : [...clusterRoleNames].filter((name) => name.startsWith(rolePrefix) && !bound.has(name)).toSorted();
  const expected = expectedManifests(present);
  const drifted = expected.filter((manifest) => isDrifted(manifest, allRoles, grants));
  const policy = await policyState(consumer, context.signal);
  const findings = [
    ...accountFindings(home),
    ...grants.flatMap((grant) => grantFindings(grant, present, gone, expected)),
    ...gapsOf(grants, present).map((text) => problem(`missing: ${text}`)),
    ...gone.map((name) => problem(`ClusterRole ${name} is left over: that API is not bound.`)),
    ...drifted
      .filter(({ kind }) => kind.endsWith("Role"))
      .map((manifest) => problem(`${labelOf(manifest)} is not as Klutch writes it.`)),
    ...policyFindings(policy),
  ];
  const repairable = gone.length + drifted.length > 0 || needsRepair(policy);
  const hint = repairable
    ? [note("klutch doctor --fix repairs the roles and the policy that Klutch itself writes.")]
    : [];
  const good = ok(
    `No surplus and no gap; ${counted(grants.length, "role")} for ${counted(present.length, "bound API")}.`,
  );
  return {
    section: { title, findings: findings.length === 0 ? [good] : [...findings, ...hint] },
    gone,
    drifted,
    policy,
  };
}

/** Returns true if no konnector is to be repaired here: its namespace goes or is gone, or nothing is bound and nothing of it runs. */
function isRemoved(home: Home, bindings: readonly APIServiceBinding[]): boolean {
  if (home.namespace !== "active") return true;
  return bindings.length === 0 && home.deployment === undefined && !hasLiveKonnector(home);
}

/** Roles that cannot be compared with anything, because the konnector that they are for is not installed. */
async function leftovers({ signal }: CliContext, consumer: Consumer, home: Home): Promise<RightsReport> {
  const { names } = await findLeftRoles(consumer, signal);
  const goes = home.namespace === "terminating";
  const text = goes
    ? `Roles of the konnector are not compared: namespace ${consumerNamespace} is being deleted.`
    : `Roles and policy of a konnector that is not installed are left over: ${names.join(", ")}.`;
  const findings = goes
    ? [note(text, "klutch unbind --all removes them when no binding is left.")]
    : names.length > 0
      ? [problem(text, "klutch unbind --all removes them.")]
      : [note("Nothing gives the konnector's account any rights: no konnector is installed here.")];
  return { section: { title, findings }, gone: [], drifted: [], policy: "unserved" };
}

function accountFindings(home: Home): readonly Finding[] {
  if (home.hasAccount) return [];
  return [
    problem(
      `ServiceAccount ${consumerNamespace}/${konnectorName} does not exist, but roles are bound to it.`,
      "To go on with Klutch: kubectl bind <URL of the provider> writes it again. To remove Klutch: klutch unbind --all",
    ),
  ];
}

function needsRepair(policy: RightsReport["policy"]): boolean {
  return policy === "absent" || policy === "different";
}

function policyFindings(policy: RightsReport["policy"]): readonly Finding[] {
  if (!needsRepair(policy)) return [];
  const text =
    policy === "absent"
      ? "is missing, so only roles restrict the konnector"
      : "does not match the bound APIs";
  return [problem(`ValidatingAdmissionPolicy ${konnectorPolicyName} ${text}.`)];
}

function grantFindings(
  grant: Grant,
  bindings: readonly APIServiceBinding[],
  gone: readonly string[],
  expected: readonly Manifest[],
): readonly Finding[] {
  if (gone.some((name) => grant.role === `ClusterRole ${name}`)) return [];
  const isOwn = expected.some((manifest) => labelOf(manifest) === grant.role);
  const where = grant.namespace === undefined ? "" : ` in namespace ${grant.namespace}`;
  const [kind = "", name = ""] = grant.binding.split(" ");
  const [namespace, short] = name.includes("/") ? name.split("/") : [undefined, name];
  const command = `kubectl delete ${kind.toLowerCase()} ${short}${namespace === undefined ? "" : ` --namespace ${namespace}`}`;
  const advice = isOwn
    ? undefined
    : `${grant.binding} gives it, which Klutch did not write. If it is not needed: ${command}`;
  return [
    ...wildcardsIn(grant.rules).map((text) =>
      problem(`wildcard: ${grant.role} gives ${text}${where}`, advice),
    ),
    ...surplusOf(grant, bindings).map((text) =>
      problem(`surplus: ${grant.role} gives ${text}${where}`, advice),
    ),
  ];
}

interface FoundRoles {
  readonly grants: readonly Grant[];
  readonly clusterRoleNames: ReadonlySet<string>;
  readonly allRoles: ReadonlyMap<string, Role>;
}

async function readGrants({ signal }: CliContext, { client }: Consumer): Promise<FoundRoles> {
  const [clusterWide, namespaced, clusterRoleList] = await Promise.all([
    Array.fromAsync(client.listAll<RoleBinding>(clusterRoleBindings, { signal })),
    Array.fromAsync(client.listAll<RoleBinding>(roleBindings, { signal })),
    Array.fromAsync(client.listAll<Role>(clusterRoles, { signal })),
  ]);
  const allRoles = new Map(clusterRoleList.map((role) => [`ClusterRole ${role.metadata.name}`, role]));
  const grants: Grant[] = [];
  for (const { kind, metadata, roleRef, subjects } of [...clusterWide, ...namespaced]) {
    if (!bindsKonnector(subjects ?? [])) continue;
    const { namespace, name = "" } = metadata;
    const isNamespaced = roleRef.kind === "Role";
    const role = isNamespaced ? `Role ${namespace}/${roleRef.name}` : `ClusterRole ${roleRef.name}`;
    if (isNamespaced) {
      const found = await client.find<Role>(roles, { namespace, name: roleRef.name }, { signal });
      if (found !== undefined) allRoles.set(role, found);
    }
    grants.push({
      role,
      binding: `${kind} ${keyOfRef({ namespace, name })}`,
      namespace,
      rules: allRoles.get(role)?.rules ?? [],
    });
  }
  const names = [...clusterRoleList, ...clusterWide].map(({ metadata }) => metadata.name ?? "");
  return { grants, clusterRoleNames: new Set(names), allRoles };
}

function isDrifted(
  manifest: Manifest,
  allRoles: ReadonlyMap<string, Role>,
  grants: readonly Grant[],
): boolean {
  const label = labelOf(manifest);
  if (manifest.kind.endsWith("Binding")) return !grants.some(({ binding }) => binding === label);
  const present = allRoles.get(label)?.rules;
  return present === undefined || present === null || !sameRights(present, rulesIn(manifest));
}

function rulesIn(manifest: Manifest): readonly PolicyRule[] {
  // Manifests of roles are made by @klutch/api; their rules are what it says.
  return Array.isArray(manifest["rules"]) ? (manifest["rules"] as readonly PolicyRule[]) : [];
}

/** `ClusterRole x`, `Role ns/x`. */
function labelOf({ kind, metadata }: Manifest): string {
  const { namespace, name } = metadata;
  return `${kind} ${keyOfRef({ namespace, name })}`;
}

/** Shows and then deletes the roles of unbound APIs and rewrites drifted ones. Returns true if it changed anything. */
export async function fixRights(
  context: CliContext,
  consumer: Consumer,
  { gone, drifted, policy }: RightsReport,
): Promise<boolean> {
  const { signal, terminal } = context;
  for (const name of gone) terminal.say(`Deleting ClusterRole and ClusterRoleBinding ${name}.`);
  for (const manifest of drifted) terminal.say(`Writing ${labelOf(manifest)} as Klutch needs it.`);
  for (const name of gone) await removeRole(context, consumer, name.slice(rolePrefix.length));
  await applyManifests(consumer, drifted, signal);
  if (needsRepair(policy)) {
    terminal.say(`Writing ValidatingAdmissionPolicy ${konnectorPolicyName} for the bound APIs.`);
    await confineKonnector(context, consumer);
  }
  return gone.length + drifted.length > 0 || needsRepair(policy);
}
