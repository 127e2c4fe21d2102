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
} from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";
import { DumpError } from "../database/dumps.ts";
import { addFinalizer, removeFinalizer, report, type Writer } from "../objects.ts";

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
  const { client, clock, type, run, remove, idField } = kind;
  return async (key, { signal }) => {
    // From the server itself: what is done must not be done again because a cache is late.
    const job = await client.find<J>(type, refOf(key), { signal });
    if (job === undefined) return undefined;
    const writer: Writer = { client, clock, type, signal };
    if (isDeleting(job)) {
      await remove(job);
      await removeFinalizer(writer, job);
      return undefined;
    }
    if (isTrue(conditionsOf(job), "Ready")) return undefined;
    await addFinalizer(writer, job);
    let problem: string | undefined;
    try {
      problem = await run(job, signal);
    } catch (error) {
      if (!(error instanceof DumpError)) throw error;
      await report(writer, job, { isReady: false, reason: "Failed", message: error.message });
      return { requeueAfterMs: afterFailureMs };
    }
    if (problem === undefined) {
      await report(writer, job, { isReady: true, reason: "Complete" }, { [idField]: job.metadata.uid });
      return undefined;
    }
    await report(writer, job, { isReady: false, reason: "Waiting", message: problem });
    return { requeueAfterMs: waitMs };
  };
}

/** Where the dump of a Backup is. */
export function dumpFile(folder: string, backup: KubeObject): string {
  return join(folder, "backups", `${backup.metadata.uid}.dump`);
}
