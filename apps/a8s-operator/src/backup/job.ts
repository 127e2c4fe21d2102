/** What backups and restores have in common: they wait until they can run, run once, and say how it went. */
import { join } from "node:path";
import type { Clock, KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  isDeleting,
  isTrue,
  type KubeObject,
  refOf,
  type ResourceType,
  type StandardCondition,
  wholeSeconds,
} from "@klutch/kube-core";
import type { Reconcile, ReconcileResult } from "@klutch/kube-runtime";
import { DumpError } from "../database/dumps.ts";
import { addFinalizer, removeFinalizer, withReady, type Writer, writeStatus } from "../objects.ts";

/** A Backup or a Restore. */
type Job = KubeObject & {
  readonly status?: { readonly conditions?: readonly StandardCondition[] | undefined } | undefined;
};

/** One kind of them. */
export interface JobKind<J extends Job> {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly type: ResourceType;
  /** Does the work. Gives back why it has to wait; throws `DumpError` when it failed. */
  readonly run: (job: J, signal: AbortSignal) => Promise<string | undefined>;
  /** Removes what it made. */
  readonly remove: (job: J) => Promise<void>;
  /** The field of the status that has the job's id. */
  readonly idField: string;
}

const waitMs = 1_000;
const afterFailureMs = 30_000;

/** By the key of the job. */
export function createJobReconcile<J extends Job>(kind: JobKind<J>): Reconcile {
  const { client, type, run, remove, idField } = kind;
  return async (key, { signal }) => {
    // From the server itself: what is done must not be done again because a cache is late.
    const job = await client.find<J>(type, refOf(key), { signal });
    if (job === undefined) return undefined;
    const writer: Writer = { client, type, signal };
    if (isDeleting(job)) {
      await remove(job);
      await removeFinalizer(writer, job);
      return undefined;
    }
    if (isTrue(conditionsOf(job), "Ready")) return undefined;
    await addFinalizer(writer, job);
    const report = (status: "True" | "False", reason: string, message?: string): Promise<void> =>
      writeReady(kind, writer, job, { status, reason, message });
    let problem: string | undefined;
    try {
      problem = await run(job, signal);
    } catch (error) {
      if (!(error instanceof DumpError)) throw error;
      await report("False", "Failed", error.message);
      return { requeueAfterMs: afterFailureMs };
    }
    if (problem === undefined) {
      await writeStatus(writer, job, { [idField]: job.metadata.uid });
      await report("True", "Complete");
      return undefined;
    }
    await report("False", "Waiting", problem);
    return wait;
  };
}

const wait: ReconcileResult = { requeueAfterMs: waitMs };

/** Where the dump of a Backup is. */
export function dumpFile(folder: string, backup: KubeObject): string {
  return join(folder, "backups", `${backup.metadata.uid}.dump`);
}

async function writeReady<J extends Job>(
  { clock }: JobKind<J>,
  writer: Writer,
  job: J,
  ready: Parameters<typeof withReady>[1],
): Promise<void> {
  const now = wholeSeconds(clock.now());
  const conditions = withReady(job, ready, now);
  // The time alone is no news.
  const isNews = JSON.stringify(conditions) !== JSON.stringify(job.status?.conditions);
  if (isNews) await writeStatus(writer, job, { conditions, lastObservationTime: now });
}
