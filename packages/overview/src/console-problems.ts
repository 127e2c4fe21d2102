/** Derives the console's problems from rows that are not well, with the one who can go on and the next step. No I/O. */
import type { ClusterRow, InstanceRow, OfferRow, ProblemRow } from "./console-wire.ts";
import { blameOf, type ClaimFacts } from "./console-rows.ts";
import { clusterAdvice, offerAdvice } from "./problems.ts";

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

/** Splits `<type> <reason>: <message>`. */
function saidBy(text: string): Pick<ProblemRow, "reason" | "says"> {
  const [head = "", ...rest] = text.split(": ");
  const says = rest.join(": ");
  return { reason: head, says: says === "" ? head : says };
}

const rankOf = ({ severity, about }: ProblemRow): number =>
  (severity === "error" ? 0 : 3) + ["offers", "clusters", "instances"].indexOf(about.collection);

/** Orders problems: errors first, and what stops many before what stops one; then by id. */
export function problemOrder(one: ProblemRow, other: ProblemRow): number {
  return rankOf(one) - rankOf(other) || (one.id < other.id ? -1 : 1);
}
