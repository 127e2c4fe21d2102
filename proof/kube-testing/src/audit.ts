/** Audit logs of API servers: what they are to hold, and the writes that they hold (written before an answer is complete). */
import { createReadStream } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { listAt, numberAt, textAt } from "@klutch/kube-core";

/** Returns arguments of an API server that logs the writes that `rules` of an audit policy name; the policy is written into the folder. */
export async function auditArguments(
  folder: string,
  logFile: string,
  rules: readonly object[],
): Promise<readonly string[]> {
  const policyFile = join(folder, "audit-policy.json");
  const verbs = ["create", "update", "patch", "delete"];
  const policy = {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [...rules.map((rule) => ({ verbs, ...rule })), { level: "None" }],
  };
  await writeFile(policyFile, JSON.stringify(policy));
  return [`--audit-policy-file=${policyFile}`, `--audit-log-path=${logFile}`, "--audit-log-maxsize=1000"];
}

/** One write that the server carried out or refused. Times in milliseconds since the epoch, with microseconds as their fraction. */
export interface AuditedWrite {
  readonly verb: string;
  readonly resource: string;
  readonly name: string;
  /** Such as `status`, or "". */
  readonly subresource: string;
  /** The user that the server authenticated. */
  readonly userName: string;
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
      subresource: textAt(event, "objectRef", "subresource") ?? "",
      userName: textAt(event, "user", "username") ?? "",
      address: listAt(event, "sourceIPs").find((one) => typeof one === "string") ?? "",
      receivedAt: microTime(textAt(event, "requestReceivedTimestamp")),
      completedAt: microTime(textAt(event, "stageTimestamp")),
      code: numberAt(event, "responseStatus", "code") ?? 0,
      holder: textAt(event, "responseObject", "spec", "holderIdentity"),
    });
  }
  return writes.toSorted((left, right) => left.receivedAt - right.receivedAt);
}

/** Reads a MicroTime of Kubernetes, which always has six digits after the point; `Date` takes the first three. */
function microTime(text = ""): number {
  return Date.parse(text) + Number(text.slice(23, 26)) / 1000;
}

/** The last line may be half written when its server was killed. */
function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
