/** Runs backups and restores: they wait until they can run, run once, and report how it went. */
import { join } from "node:path";
import { ProgramError } from "@klutch/data-servers";
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
import { addFinalizer, removeFinalizer, report, type Writer } from "../objects.ts";

/** A Backup or a Restore. */
type Job = KubeObject & {
  readonly status?: { readonly conditions?: readonly StandardCondition[] | undefined } | undefined;
};

/** One kind of job. */
export interface JobKind<J extends Job> {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly type: ResourceType;
  /** Does the work. Returns why it has to wait; throws `ProgramError` when it failed. */
  readonly run: (job: J, signal: AbortSignal) => Promise<string | undefined>;
  /** Removes its results. */
  readonly remove: (job: J) => Promise<void>;
  /** Field of the status with the id of the job. */
  readonly idField: string;
}

const waitMs = 1_000;
const afterFailureMs = 30_000;

/** Returns the reconcile function, by the key of the job. */
export function createJobReconcile<J extends Job>(kind: JobKind<J>): Reconcile {
  const { client, clock, type, run, remove, idField } = kind;
  return async (key, { signal }) => {
    // From the server itself, so that nothing is done again because a cache is late.
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
      if (!(error instanceof ProgramError)) throw error;
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

/** Returns the path of the dump of a Backup. */
export function dumpFile(folder: string, backup: KubeObject): string {
  return join(folder, "backups", `${backup.metadata.uid}.dump`);
}
