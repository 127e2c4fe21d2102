/** Derives the console's problems from rows that are not well, with the one who can go on and the next step. No I/O. */
import { type KonnectorRollout, plainText, type Tenant } from "@klutch/api";
import { findCondition } from "@klutch/kube-core";
import type { ClusterRow, InstanceRow, OfferRow, ProblemRow } from "./console-wire.ts";
import { blameOf, type ClaimFacts } from "./console-rows.ts";
import { budgetCondition, clusterAdvice, offerAdvice } from "./problems.ts";

/** Returns the problem of a template; undefined if it has none. */
export function offerProblem(row: OfferRow): ProblemRow | undefined {
  if (row.health !== "problem") return undefined;
  return {
    id: `offers/${row.id}`,
    severity: "error",
    about: { collection: "offers", id: row.id },
    title: row.api,
    tenant: "",
    ...saidBy(row.problem),
    since: undefined,
    next: offerAdvice(row.id),
    who: "operator",
  };
}

/** Returns the problem of an app cluster; undefined if it has none. */
export function clusterProblem(row: ClusterRow): ProblemRow | undefined {
  if (row.health !== "problem") return undefined;
  return {
    id: `clusters/${row.id}`,
    severity: "error",
    about: { collection: "clusters", id: row.id },
    title: row.name === "" ? row.tenant : row.name,
    tenant: row.tenant,
    ...saidBy(row.problem),
    since: row.lastHeartbeat,
    next: clusterAdvice(row),
    who: "operator",
  };
}

/** Returns the problem of a claim; undefined if it has none. */
export function instanceProblem(row: InstanceRow, claim: ClaimFacts): ProblemRow | undefined {
  const blame = row.health === "problem" ? blameOf(claim, row) : undefined;
  if (blame === undefined) return undefined;
  const { state, remedy } = blame.meaning;
  return {
    id: `instances/${row.id}`,
    severity: state === "failed" ? "error" : "warning",
    about: { collection: "instances", id: row.id },
    title: `${row.namespace}/${row.name}`,
    tenant: row.tenant,
    reason: blame.reason,
    says: row.problem,
    since: blame.since,
    next: remedy.next,
    who: remedy.who,
  };
}

/** Returns the warning of a budget that is spent; undefined if there is none, or the app cluster is gone. */
export function budgetProblem(
  tenant: Tenant,
  clusters: ReadonlyMap<string, { readonly row: Pick<ClusterRow, "name"> }>,
): ProblemRow | undefined {
  const { namespace = "" } = tenant.metadata;
  const cluster = clusters.get(namespace);
  const said = findCondition(tenant.status?.conditions, budgetCondition);
  if (cluster === undefined || said?.status !== "False") return undefined;
  const { name } = cluster.row;
  return {
    id: `budgets/${namespace}`,
    severity: "warning",
    about: { collection: "clusters", id: namespace },
    title: name === "" ? namespace : name,
    tenant: namespace,
    reason: plainText(said.reason ?? "", 100),
    says: plainText(said.message ?? "", 400),
    since: said.lastTransitionTime,
    next: `klutch cost --tenant ${namespace}`,
    who: "operator",
  };
}

/** Returns the problem of a roll-out; undefined unless it has stopped at the version that it still wants. */
export function rolloutProblem({ metadata, spec, status }: KonnectorRollout): ProblemRow | undefined {
  const { stop, conditions } = status ?? {};
  if (stop === undefined || stop.version !== spec.version) return undefined;
  const name = plainText(metadata.name ?? "", 253);
  return {
    id: `rollouts/${name}`,
    severity: "error",
    about: { collection: "konnectors", id: name },
    title: `KonnectorRollout ${name}`,
    tenant: "",
    reason: "RolledOut Stopped",
    says: plainText(stop.message, 400),
    since: findCondition(conditions, "RolledOut")?.lastTransitionTime,
    next: `kubectl edit konnectorrollouts ${name}`,
    who: "operator",
  };
}

/** Returns the problem of a ledger that is in no bill. `more`: others that are damaged too. */
export function ledgerProblem(
  { name, fault }: { readonly name: string; readonly fault: string },
  more: number,
): ProblemRow {
  const ledger = plainText(name, 253);
  const others = more === 0 ? "" : `, and ${more} more ledgers are damaged`;
  return {
    id: `cost/${ledger}`,
    severity: "error",
    about: { collection: "cost", id: ledger },
    title: `UsageLedger ${ledger}`,
    tenant: "",
    reason: "LedgerDamaged",
    says: `${plainText(fault, 300)}. The bill leaves this ledger out${others}.`,
    since: undefined,
    next: `kubectl get usageledgers ${ledger} -o yaml`,
    who: "operator",
  };
}

/** Returns the problem of a backup whose size is in doubt. `more`: others of which the same is true. */
export function backupSizeProblem(
  backup: {
    readonly tenant: string;
    readonly name: string;
    readonly fault: string;
    readonly isSized: boolean;
  },
  more: number,
): ProblemRow {
  const name = plainText(backup.name, 253);
  const id = `${plainText(backup.tenant, 63)}/${name}`;
  const others = more === 0 ? "" : `. The sizes of ${more} more backups are in doubt`;
  const counts = backup.isSized ? "the size that was told first" : "an unknown size";
  return {
    id: `cost/backup/${id}`,
    severity: "warning",
    about: { collection: "cost", id },
    title: `Backup ${name}`,
    tenant: "",
    reason: "BackupSizeInDoubt",
    says: `${plainText(backup.fault, 300)}. The bill counts it with ${counts}${others}.`,
    since: undefined,
    next: `kubectl get backups.dataservices.anynines.com ${name} -o yaml`,
    who: "broker",
  };
}

/** Splits `<type> <reason>: <message>`. */
function saidBy(text: string): Pick<ProblemRow, "reason" | "says"> {
  const [head = "", ...rest] = text.split(": ");
  const says = rest.join(": ");
  return { reason: head, says: says === "" ? head : says };
}

const rankOf = ({ severity, about }: ProblemRow): number =>
  (severity === "error" ? 0 : 5) +
  ["offers", "clusters", "konnectors", "cost", "instances"].indexOf(about.collection);

/** Orders problems: errors first, and what stops many before what stops one; then by id. */
export function problemOrder(one: ProblemRow, other: ProblemRow): number {
  return rankOf(one) - rankOf(other) || (one.id < other.id ? -1 : 1);
}
