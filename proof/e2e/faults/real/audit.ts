/** Reads the agents' writes and the lease holders from the API servers' audit logs (written before an answer is complete). */
import { createReadStream } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { listAt, numberAt, textAt } from "@klutch/kube-core";
import { consumerNamespace, konnectorName, binderName } from "@klutch/api";
import type { AgentRun } from "./agent-slot.ts";
import { tenants } from "../../security/bound-fixture.ts";

/** Arguments of the API server; the policy is written into the folder. */
export async function auditArguments(folder: string, logFile: string): Promise<readonly string[]> {
  const policyFile = join(folder, "audit-policy.json");
  const writes = ["create", "update", "patch", "delete"];
  const policy = {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [
      {
        level: "RequestResponse",
        verbs: writes,
        namespaces: [consumerNamespace],
        resources: [{ group: "coordination.k8s.io", resources: ["leases"] }],
      },
      {
        level: "Metadata",
        verbs: writes,
        users: [
          `system:serviceaccount:${consumerNamespace}:${konnectorName}`,
          `system:serviceaccount:${tenants.a}:${binderName}`,
        ],
      },
      { level: "None" },
    ],
  };
  await writeFile(policyFile, JSON.stringify(policy));
  return [`--audit-policy-file=${policyFile}`, `--audit-log-path=${logFile}`, "--audit-log-maxsize=1000"];
}

/** One write that the server carried out or refused. Times in milliseconds since the epoch. */
export interface AuditedWrite {
  readonly verb: string;
  readonly resource: string;
  readonly name: string;
  readonly address: string;
  readonly receivedAt: number;
  readonly completedAt: number;
  readonly code: number;
  /** Holder of the lease, if the write is to a lease. */
  readonly holder: string | undefined;
}

/** Returns the current end of the log, to read only later lines. */
export async function auditPosition(logFile: string): Promise<number> {
  return (await stat(logFile).catch(() => ({ size: 0 }))).size;
}

/** Returns the writes after the position, by time of arrival. */
export async function readAudit(logFile: string, from: number): Promise<readonly AuditedWrite[]> {
  const lines = createInterface({ input: createReadStream(logFile, { start: from }) });
  const writes: AuditedWrite[] = [];
  for await (const line of lines) {
    const event = parseLine(line);
    if (event === undefined) continue;
    writes.push({
      verb: textAt(event, "verb") ?? "",
      resource: textAt(event, "objectRef", "resource") ?? "",
      name: textAt(event, "objectRef", "name") ?? "",
      address: listAt(event, "sourceIPs").find((one) => typeof one === "string") ?? "",
      receivedAt: Date.parse(textAt(event, "requestReceivedTimestamp") ?? ""),
      completedAt: Date.parse(textAt(event, "stageTimestamp") ?? ""),
      code: numberAt(event, "responseStatus", "code") ?? 0,
      holder: textAt(event, "responseObject", "spec", "holderIdentity"),
    });
  }
  return writes.toSorted((left, right) => left.receivedAt - right.receivedAt);
}

/** The last line may be half written when its server was killed. */
function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

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
