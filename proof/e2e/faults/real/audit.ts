/** The agents' writes and the lease holders in the API servers' audit logs: who wrote without the lease. */
import { consumerNamespace, konnectorName, binderName } from "@klutch/api";
import type { AuditedWrite } from "@klutch/kube-testing";
import type { AgentRun } from "./agent-slot.ts";
import { tenants } from "../../security/bound-fixture.ts";

/** Rules of the audit policy: every write of the agents, and the holders of their lease. */
export const auditRules: readonly object[] = [
  {
    level: "RequestResponse",
    namespaces: [consumerNamespace],
    resources: [{ group: "coordination.k8s.io", resources: ["leases"] }],
  },
  {
    level: "Metadata",
    users: [
      `system:serviceaccount:${consumerNamespace}:${konnectorName}`,
      `system:serviceaccount:${tenants.a}:${binderName}`,
    ],
  },
];

/** The lease holder that only takes the lease away. */
export const thief = "thief";
/** Time after its last renewal for which a leader may go on believing in a lease that it has lost. */
const renewDeadlineMs = 10_000;

/**
 * Returns the writes of agents that did not hold the lease when their request arrived. A robbed agent may go on until its renew
 * deadline, because it could not know; the thief's lease makes all others wait longer than that.
 */
export function writesWithoutLease(
  consumer: readonly AuditedWrite[],
  provider: readonly AuditedWrite[],
  runs: readonly AgentRun[],
): readonly string[] {
  const terms = consumer
    .filter(({ resource, code }) => resource === "leases" && code < 300)
    .toSorted((left, right) => left.completedAt - right.completedAt);
  const others = Object.entries({ consumer, provider }).flatMap(([cluster, writes]) =>
    writes.map((write) => ({ ...write, cluster })),
  );
  return others.flatMap(({ cluster, verb, resource, name, address, receivedAt }) => {
    const run = runs.find((one) => one.address === address);
    if (run === undefined || resource === "leases") return [];
    const holders = possibleHolders(terms, receivedAt);
    if (holders.includes(run.identity)) return [];
    const at = new Date(receivedAt).toISOString();
    const held = holders.join(" or ") || "nobody";
    return [
      `${run.identity} (${address}) wrote without the lease, held by ${held}: ${verb} ${resource} ${name} of the ${cluster} at ${at}`,
    ];
  });
}

/** Returns the last holder whose write was complete by then, robbed holders, and holders whose writes were on their way. */
function possibleHolders(terms: readonly AuditedWrite[], time: number): readonly string[] {
  const index = terms.findLastIndex(({ completedAt }) => completedAt <= time);
  const begun = terms.slice(index + 1).filter(({ receivedAt }) => receivedAt <= time);
  const last = terms[index];
  const robbed = terms
    .slice(0, index + 1)
    .flatMap((term, position) =>
      term.holder === thief && time - term.completedAt < renewDeadlineMs ? [terms[position - 1]] : [],
    );
  return [last, ...robbed, ...begun].flatMap((term) => (term?.holder === undefined ? [] : [term.holder]));
}
