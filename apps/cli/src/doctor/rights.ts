/** The konnector's rights as the app cluster has them, and their repair. */
import {
  acceptedClaimsAnnotation,
  apiLimit,
  apiServiceBindingCrd,
  bindingRoleName,
  bindingRules,
  claimMarks,
  consumerNamespace,
  crdNameOf,
  konnectorName,
  konnectorPolicyName,
  type Manifest,
  type PermissionClaim,
  printable,
} from "@klutch/api";
import { keyOfRef, type PolicyRule, type Role } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { applyManifests } from "../app-cluster/konnector.ts";
import {
  type ApiLimitsState,
  apiLimitsState,
  liftApiLimits,
  writeApiLimits,
} from "../app-cluster/api-limits.ts";
import {
  type ClaimMarksState,
  claimMarksState,
  liftClaimMarks,
  writeClaimMarks,
} from "../app-cluster/claim-marks.ts";
import { confineKonnector, policyState } from "../app-cluster/confinement.ts";
import { isUpdateGrant } from "../app-cluster/updates.ts";
import { autoBindRights } from "./auto-bind.ts";
import { type Finding, ok, note, problem, type Section } from "./diagnosis.ts";
import { counted } from "../findings.ts";
import { type AnsweredBinding, readAnswers } from "../app-cluster/answers.ts";
import { answerUnrecorded, confirmRights } from "../app-cluster/permission-claims.ts";
import {
  boundResource,
  expectedManifests,
  gapsOf,
  type Grant,
  lackOf,
  roleManifests,
  sameRights,
  surplusOf,
  wildcardsIn,
} from "../app-cluster/rights.ts";
import { hasLiveKonnector, type Home } from "../app-cluster/home.ts";
import { findLeftRoles } from "../app-cluster/left-roles.ts";
import { bindingKindFaults, repairBindingKind } from "../app-cluster/binding-kind.ts";
import { removeRole } from "../app-cluster/binding-role.ts";
import { describeRule } from "../app-cluster/rule-text.ts";
import type { ClaimAnswer } from "../options.ts";

/** Findings about the konnector's rights, and the repair. */
export interface RightsReport {
  readonly section: Section;
  /** Names of ClusterRole and ClusterRoleBinding of APIs that are no longer bound. */
  readonly gone: readonly string[];
  /** Roles and role bindings of Klutch that are missing or differ. */
  readonly drifted: readonly Manifest[];
  /** Bound APIs with claims that no one accepted here. */
  readonly unanswered: readonly AnsweredBinding[];
  /** Rights that the konnector would get, by the `keyOfRole` of the role that is to give them. */
  readonly lacking: ReadonlyMap<string, readonly string[]>;
  /** Faults of the definition of bindings. */
  readonly kindFaults: readonly string[];
  /** The admission policy behind the roles. */
  readonly policy: Awaited<ReturnType<typeof policyState>>;
  /** The policies that mark new claims. */
  readonly marks: ClaimMarksState;
  /** The policies that refuse claims beyond a limit. */
  readonly limits: ApiLimitsState;
}

const title = "Rights of the konnector";
const rolePrefix = bindingRoleName("");
const userRolePrefix = "klutch-bind:";

const nothing = {
  gone: [],
  drifted: [],
  unanswered: [],
  lacking: new Map<string, readonly string[]>(),
  kindFaults: [],
  policy: "unserved",
  marks: { different: [], left: [] },
  limits: { different: [], left: [] },
} as const;

/** Compares. Where the kind of bindings is not served, nothing is said about roles of single APIs. */
export async function checkRights(
  context: CliContext,
  consumer: Consumer,
  home: Home,
): Promise<RightsReport> {
  const { bindings, roles } = await readAnswers(consumer, context.signal);
  if (isRemoved(home, bindings ?? [])) return leftovers(context, consumer, home);
  const { grants, clusterRoleNames, allRoles } = roles;
  const isInstalled = grants.length > 0 || (bindings ?? []).length > 0;
  if (!isInstalled) {
    const text = "Nothing gives the konnector's account any rights: no konnector is installed here.";
    return { ...nothing, section: { title, findings: [note(text)] } };
  }
  const present = bindings ?? [];
  const bound = new Set(present.map(({ name }) => bindingRoleName(name)));
  const gone =
    bindings === undefined
      ? []
      : [...clusterRoleNames].filter((name) => name.startsWith(rolePrefix) && !bound.has(name)).toSorted();
  const autoBind = autoBindRights(allRoles);
  const needsRole = ({ name }: AnsweredBinding): boolean =>
    !autoBind.serves(name) || allRoles.has(`ClusterRole ${bindingRoleName(name)}`);
  const expected = expectedManifests(present.filter(needsRole));
  const drifted = expected.filter((manifest) => isDrifted(manifest, allRoles, grants));
  const unanswered = present.filter((api) => api.unanswered.length > 0);
  const policy = await policyState(consumer, context.signal);
  const marks = await claimMarksState(consumer, new Set(present.map(({ name }) => name)), context.signal);
  const limits = await apiLimitsState(consumer, context.signal);
  const kindFaults = await bindingKindFaults(consumer, context.signal);
  const findings = [
    ...accountFindings(home),
    ...kindFaults.map((fault) =>
      problem(
        `CustomResourceDefinition ${apiServiceBindingCrd.metadata.name} is not as Klutch writes it: ${printable(fault)}.`,
      ),
    ),
    ...grants.flatMap((grant) =>
      autoBind.isOwn(grant) || isUpdateGrant(grant, allRoles)
        ? []
        : grantFindings(grant, present, gone, expected),
    ),
    ...gapsOf(grants, present).map((text) => problem(`missing: ${text}`)),
    ...unanswered.flatMap(unansweredFindings),
    ...gone.map((name) => problem(`ClusterRole ${name} is left over: that API is not bound.`)),
    ...drifted
      .filter(({ kind }) => kind.endsWith("Role"))
      .map((manifest) => problem(`${labelOf(manifest)} is not as Klutch writes it.`)),
    ...policyFindings(policy),
    ...marksFindings(marks),
    ...limitsFindings(limits),
  ];
  const policies = [marks.different, marks.left, limits.different, limits.left];
  const faults = [gone, drifted, kindFaults, ...policies].flat();
  const repairable = faults.length > 0 || needsRepair(policy);
  const hint = repairable
    ? [note("klutch doctor --fix repairs the roles and the policies that Klutch itself writes.")]
    : [];
  const good = ok(
    `No surplus and no gap; ${counted(grants.length, "role")} for ${counted(present.length, "bound API")}.`,
  );
  return {
    section: { title, findings: findings.length === 0 ? [good] : [...findings, ...hint] },
    gone,
    drifted,
    unanswered,
    lacking: lackingIn(expected, grants),
    kindFaults,
    policy,
    marks,
    limits,
  };
}

/** People's roles are none of the konnector's. */
function lackingIn(
  expected: readonly Manifest[],
  grants: readonly Grant[],
): ReadonlyMap<string, readonly string[]> {
  return new Map(
    expected
      .filter(({ kind, metadata }) => kind.endsWith("Role") && !metadata.name.startsWith(userRolePrefix))
      .map((role) => [keyOfRole(role), lackOf(rulesIn(role), grants, role.metadata.namespace)] as const)
      .filter(([, lack]) => lack.length > 0),
  );
}

function unansweredFindings({ name, unanswered }: AnsweredBinding): readonly Finding[] {
  return unanswered.map((claim) =>
    problem(
      `APIServiceBinding ${name} calls a permission claim on ${printable(crdNameOf(claim))} accepted that no one accepted in this cluster. The konnector has no rights for it.`,
      "If you did not change the binding, look who did: kubectl get apiservicebindings --show-managed-fields. To accept the claim: klutch doctor --fix asks",
    ),
  );
}

/** Returns true if no konnector is to be repaired here: its namespace goes or is gone, or nothing is bound and nothing of it runs. */
function isRemoved(home: Home, bindings: readonly AnsweredBinding[]): boolean {
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
  return { ...nothing, section: { title, findings } };
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

function marksFindings({ different, left }: ClaimMarksState): readonly Finding[] {
  return [
    ...different.map((api) =>
      problem(`MutatingAdmissionPolicy ${claimMarks.nameOf(api)} or its binding is not as Klutch writes it.`),
    ),
    ...left.map((api) =>
      problem(`MutatingAdmissionPolicy ${claimMarks.nameOf(api)} is left over: that API is not bound.`),
    ),
  ];
}

function limitsFindings({ different, left }: ApiLimitsState): readonly Finding[] {
  return [
    ...different.map((api) =>
      problem(
        `ValidatingAdmissionPolicy ${apiLimit.nameOf(api)} or its binding is missing or not as Klutch writes it, so kubectl apply does not tell the provider's limit.`,
      ),
    ),
    ...left.map((api) =>
      problem(`ValidatingAdmissionPolicy ${apiLimit.nameOf(api)} is left over: that API is not bound.`),
    ),
  ];
}

function grantFindings(
  grant: Grant,
  bindings: readonly AnsweredBinding[],
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

function isDrifted(
  manifest: Manifest,
  allRoles: ReadonlyMap<string, Role>,
  grants: readonly Grant[],
): boolean {
  const label = labelOf(manifest);
  if (manifest.kind.endsWith("Binding")) return !grants.some(({ binding }) => binding === label);
  const present = allRoles.get(label);
  const record = manifest.metadata.annotations?.[acceptedClaimsAnnotation];
  return (
    present === undefined ||
    !sameRights(present.rules ?? [], rulesIn(manifest)) ||
    (record !== undefined && present.metadata.annotations?.[acceptedClaimsAnnotation] === undefined)
  );
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

/**
 * Deletes the roles of unbound APIs and rewrites drifted ones. Rights that the konnector does not have yet are shown first, and given only
 * when the person says so. Returns true if it changed anything.
 */
export async function fixRights(
  context: CliContext,
  consumer: Consumer,
  { gone, drifted, lacking, unanswered, kindFaults, policy, marks, limits }: RightsReport,
  answer: ClaimAnswer,
): Promise<boolean> {
  const { signal, terminal } = context;
  const isGiven =
    lacking.size === 0 || (await confirmRights(context, "bound APIs", [...lacking.values()].flat(), answer));
  // What bindings say is asked about only once their definition is right.
  const answered = isGiven && kindFaults.length === 0 ? await askAgain(context, unanswered, answer) : [];
  const written = [
    ...drifted.filter((manifest) => isGiven || !lacking.has(keyOfRole(manifest))),
    ...answered,
  ];
  if (kindFaults.length > 0) {
    terminal.say(
      `Writing CustomResourceDefinition ${apiServiceBindingCrd.metadata.name} as this release has it.`,
    );
    await repairBindingKind(consumer, signal);
  }
  for (const name of gone) terminal.say(`Deleting ClusterRole and ClusterRoleBinding ${name}.`);
  for (const manifest of written) terminal.say(`Writing ${labelOf(manifest)} as Klutch needs it.`);
  for (const name of gone) await removeRole(context, consumer, name.slice(rolePrefix.length));
  await applyManifests(consumer, written, signal);
  const isConfined = needsRepair(policy) || (answered.length > 0 && policy === "right");
  if (isConfined) {
    terminal.say(`Writing ValidatingAdmissionPolicy ${konnectorPolicyName} for the bound APIs.`);
    await confineKonnector(context, consumer);
  }
  await writeClaimMarks(context, consumer, marks.different);
  for (const api of marks.left) await liftClaimMarks(context, consumer, api);
  for (const api of limits.different)
    terminal.say(`Writing ValidatingAdmissionPolicy ${apiLimit.nameOf(api)}.`);
  await writeApiLimits(context, consumer, limits.different);
  for (const api of limits.left) await liftApiLimits(context, consumer, api);
  const policies = [marks.different, marks.left, limits.different, limits.left];
  return [gone, written, kindFaults, ...policies].flat().length > 0 || isConfined;
}

/** Asks about the claims that no one accepted here. Returns the roles with those that are accepted now. */
async function askAgain(
  context: CliContext,
  unanswered: readonly AnsweredBinding[],
  answer: ClaimAnswer,
): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = [];
  for (const { unanswered: open, ...api } of unanswered) {
    const { name, claims, isWide } = api;
    const resource = boundResource(name);
    if (resource === undefined) continue;
    const own = bindingRules(resource, []).length;
    const rightsOf = (claim: PermissionClaim): string[] =>
      bindingRules(resource, [claim], { isWide }).slice(own).map(describeRule);
    const asked = { name, group: resource.group, unanswered: open };
    const accepted = await answerUnrecorded(context, asked, answer, rightsOf);
    if (accepted.length > 0) manifests.push(...roleManifests({ ...api, claims: [...claims, ...accepted] }));
  }
  return manifests;
}

/** `/x`, `ns/x`: alike for a role of the konnector and its role binding. */
function keyOfRole({ metadata }: Manifest): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
