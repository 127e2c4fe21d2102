/** Derives the rows of the console from objects of the control plane. No I/O. Texts of strangers come out on one line and bounded. */
import {
  type APIServiceExportTemplate,
  boundByAnnotation,
  clusterNameAnnotation,
  crdNameOf,
  composedCondition,
  displayName,
  type Grant,
  parseClusterBinding,
  plainText,
  serviceTitleAnnotation,
  type Tenant,
} from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  type KubeObject,
  recordsAt,
  type ResourceType,
  textAt,
  wholeSeconds,
} from "@klutch/kube-core";
import { type GoodBackup, goodBackup } from "./console-backups.ts";
import type { ClusterRow, GrantRow, Health, InstanceRow, MemberRow, OfferRow } from "./console-wire.ts";
import { type Meaning, meaningOf } from "./explain/reasons.ts";
import { clusterProblems, problemsOf, problemText, updateFault } from "./problems.ts";

const [wordLimit, textLimit] = [100, 400];
const word = (text: string | undefined): string => plainText(text ?? "", wordLimit);

/** Returns the time in one form; undefined if it is none. */
function time(text: string | undefined): string | undefined {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? undefined : wholeSeconds(at);
}

/** A claim as far as its row depends on it: little, because there are thousands. */
export interface ClaimFacts {
  readonly metadata: Pick<KubeObject["metadata"], "namespace" | "name" | "uid" | "resourceVersion">;
  readonly created: string;
  readonly isDeleting: boolean;
  readonly service: string;
  readonly plan: string;
  readonly conditions: readonly ClaimCondition[];
  /** Present if the claim is a good backup. */
  readonly backup?: GoodBackup | undefined;
}

interface ClaimCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string | undefined;
}

/** Conditions that say whether a claim is well, the deepest cause first. */
const telling = [composedCondition, "Ready", "Synced"];

/** Reads the claim. */
export function claimFacts(object: DynamicObject): ClaimFacts {
  const { namespace, name, uid, resourceVersion, creationTimestamp, deletionTimestamp } = object.metadata;
  const all = conditionsOf(object);
  const conditions = telling.flatMap((type) => {
    const found = findCondition(all, type);
    if (found === undefined) return [];
    const { status, reason, message = "" } = found;
    const written = recordsAt(object.status, "conditions").find((one) => one["type"] === type);
    return [
      {
        type,
        status,
        reason: word(reason),
        message: plainText(message, textLimit),
        since: time(textAt(written, "lastTransitionTime")),
      },
    ];
  });
  return {
    metadata: { namespace, name, uid, resourceVersion },
    created: time(creationTimestamp) ?? "",
    isDeleting: deletionTimestamp !== undefined,
    service: word(textAt(object, "spec", "service")),
    plan: word(textAt(object, "spec", "plan")),
    conditions,
    backup: goodBackup(object),
  };
}

/** The condition that keeps a claim from being well, and its meaning. */
export interface Blame extends ClaimCondition {
  readonly meaning: Meaning;
}

/** Returns it: one that failed before one that waits; undefined if there is none. */
export function blameOf(
  claim: ClaimFacts,
  row: Pick<InstanceRow, "api" | "namespace" | "name">,
): Blame | undefined {
  const blamed = { api: row.api, claim: row, choosesComposition: false };
  const found = claim.conditions
    .filter(({ status }) => status === "False")
    .map((one): Blame => ({ ...one, meaning: meaningOf(one, blamed) }));
  return found.find(({ meaning }) => meaning.state === "failed") ?? found[0];
}

/** Place of a claim in its app cluster, as the annotation of its service namespace says it. */
export interface Place {
  readonly tenant: string;
  /** Namespace in the app cluster. */
  readonly namespace: string;
  readonly cluster: string;
}

/** Returns the row of a claim. `lastBackup`: the end of its last good backup. `perMonth`: the price of its plan. */
export function instanceRow(
  type: ResourceType,
  claim: ClaimFacts,
  place: Place,
  { lastBackup, perMonth }: Partial<Pick<InstanceRow, "lastBackup" | "perMonth">> = {},
): InstanceRow {
  const { namespace = "", name = "" } = claim.metadata;
  const api = crdNameOf({ group: type.group, resource: type.plural });
  const named = { api, namespace: place.namespace, name };
  const blame = blameOf(claim, named);
  const ready = claim.conditions.find((one) => one.type === "Ready");
  return {
    id: `${api}/${namespace}/${name}`,
    ...named,
    kind: type.kind,
    tenant: place.tenant,
    cluster: place.cluster,
    plan: claim.plan,
    health: healthOf(claim, blame),
    reason: blame?.reason ?? ready?.reason ?? "",
    problem: blame === undefined ? "" : blame.message || blame.reason,
    created: claim.created,
    lastBackup,
    perMonth,
  };
}

function healthOf({ isDeleting, conditions }: ClaimFacts, blame: Blame | undefined): Health {
  if (blame?.meaning.state === "failed") return "problem";
  if (isDeleting) return "deleting";
  if (blame !== undefined) return blame.type === "Ready" ? "pending" : "problem";
  return conditions.some(({ type, status }) => type === "Ready" && status === "True") ? "well" : "pending";
}

/** Numbers of one app cluster that other objects say. */
export interface ClusterFacts {
  /** As `<plural>.<group>`. */
  readonly apis: readonly string[];
  readonly claims: number;
  readonly notReady: number;
  readonly heldDeletions: number;
}

/** Returns the row of an app cluster. */
export function clusterRow(binding: KubeObject, tenant: Tenant | undefined, facts: ClusterFacts): ClusterRow {
  const { namespace = "", annotations, deletionTimestamp } = binding.metadata;
  const { status, konnectorUpdates } = parseClusterBinding(binding);
  const [found] = clusterProblems(status.conditions ?? [], conditionsOf(tenant));
  const problem = found === undefined ? updateFault(konnectorUpdates) : problemText(found);
  const lastHeartbeat = time(status.lastHeartbeatTime);
  const rest = problem !== "" ? "problem" : lastHeartbeat === undefined ? "pending" : "well";
  return {
    id: namespace,
    tenant: namespace,
    name: displayName(annotations?.[clusterNameAnnotation]) ?? "",
    owner: displayName(tenant?.spec?.owner) ?? "",
    boundBy: displayName(annotations?.[boundByAnnotation]) ?? "",
    members: tenant?.status?.memberCount ?? 0,
    version: plainText(status.konnectorVersion ?? "", 40),
    lastHeartbeat,
    // Of the Tenant, which accounts of app clusters cannot write.
    credentialEnds: time(tenant?.status?.credentialEndsAt),
    ...facts,
    health: deletionTimestamp === undefined ? rest : "deleting",
    problem,
  };
}

/** Most plans that a row lists. */
const mostPlans = 100;

/** Returns the row of a template. */
export function offerRow(
  template: APIServiceExportTemplate,
  plans: OfferRow["plans"],
  boundBy: readonly string[],
): OfferRow {
  const { namespace = "", name = "", annotations } = template.metadata;
  const conditions = conditionsOf(template);
  const [problem] = problemsOf(conditions);
  const isOffered = findCondition(conditions, "Offered")?.status === "True";
  return {
    id: `${namespace}/${name}`,
    api: word(crdNameOf(template.spec.APIServiceSelector)),
    kind: word(template.status?.kind),
    service: displayName(annotations?.[serviceTitleAnnotation]) ?? "",
    plans: plans.slice(0, mostPlans).map((plan) => ({ ...plan, name: word(plan.name) })),
    health: problem !== undefined ? "problem" : isOffered ? "well" : "pending",
    problem: problem === undefined ? "" : problemText(problem),
    boundBy,
  };
}

/** Returns the id of a member's row. */
export function memberRowId(
  namespace: string,
  { issuer = "", subject }: { readonly issuer?: string | undefined; readonly subject: string },
): string {
  return `${namespace}/${plainText(issuer, 200)}/${plainText(subject, 200)}`;
}

/** Returns the people of a tenant, as the backend wrote them into its status. */
export function memberRows({ metadata: { namespace = "" }, status }: Tenant): readonly MemberRow[] {
  return (status?.members ?? []).map((member) => {
    const { issuer = "", subject } = member;
    return {
      id: memberRowId(namespace, member),
      tenant: namespace,
      name: displayName(member.displayName) ?? word(subject),
      issuer: plainText(issuer, 200),
      lastBound: time(member.lastBoundAt),
    };
  });
}

/** Returns the row of a Grant. */
export function grantRow({ metadata, spec }: Grant): GrantRow {
  const { namespace = "", name = "" } = metadata;
  const { identity, api, way, boundAt } = spec;
  return {
    id: `${namespace}/${name}`,
    tenant: namespace,
    who: displayName(identity.displayName) ?? word(identity.user),
    way: word(way),
    templates: [word(crdNameOf(api))],
    at: time(boundAt) ?? "",
  };
}
