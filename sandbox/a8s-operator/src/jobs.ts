/** Backups and restores of a8s: they wait until they can run, run once, and report how it went. */
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { postgres, ProgramError } from "@klutch/data-servers";
import { exists } from "@klutch/engines";
import * as core from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";
import { databaseOf } from "./database.ts";
import { type Backup, backups, type Restore, restores } from "./kinds.ts";
import { type OperatorParts, withServer, writerOf } from "./parts.ts";

interface JobKind<J extends Backup | Restore> {
  readonly type: core.ResourceType;
  /** Field of the status with the id of the job. */
  readonly idField: string;
  /** Does the work. Returns why it has to wait; throws `ProgramError` when it failed. */
  readonly run: (job: J, signal: AbortSignal) => Promise<string | undefined>;
  /** Removes its results. */
  readonly remove: (job: J) => Promise<void>;
}

const waitMs = 1_000;
const afterFailureMs = 30_000;

/** Dumps the instance of a Backup, by the key of the Backup. */
export function createBackupReconcile(parts: OperatorParts): Reconcile {
  const { folder } = parts;
  return createJobReconcile<Backup>(parts, {
    type: backups,
    idField: "backupID",
    async run(backup, signal) {
      const file = dumpFile(folder, backup);
      // It is whole, but a crash kept the operator from reporting it.
      if (await exists(file)) return undefined;
      const { metadata, spec } = backup;
      return withServer(parts, metadata.namespace, spec.serviceInstance, async (server) => {
        await mkdir(join(folder, "backups"), { recursive: true, mode: 0o700 });
        await rm(partialOf(file), { force: true });
        const to = createWriteStream(partialOf(file), { mode: 0o600, flush: true });
        await postgres.dumpDatabase(databaseOf(server), to, signal);
        await finished(to);
        await rename(partialOf(file), file);
        return undefined;
      });
    },
    async remove(backup) {
      const file = dumpFile(folder, backup);
      for (const each of [file, partialOf(file)]) await rm(each, { force: true });
    },
  });
}

/** Replaces the data of an instance by the dump that a Restore names, by the key of the Restore. */
export function createRestoreReconcile(parts: OperatorParts): Reconcile {
  return createJobReconcile<Restore>(parts, {
    type: restores,
    idField: "restoreID",
    async run(restore, signal) {
      const { namespace, uid: token = "" } = restore.metadata;
      const { name } = restore.spec.serviceInstance;
      const ref = { namespace, name: restore.spec.backupName };
      const backup = await parts.client.find<Backup>(backups, ref, { signal });
      if (backup === undefined) return `no Backup ${ref.name} in namespace ${namespace}`;
      const source = backup.spec.serviceInstance.name;
      if (source !== name)
        return `spec.backupName is ${ref.name}, which is of ${source}; only backups of ${name} go into ${name}`;
      if (!core.isTrue(core.conditionsOf(backup), "Ready")) return `Backup ${ref.name} is not ready yet`;
      const file = dumpFile(parts.folder, backup);
      return withServer(parts, namespace, restore.spec.serviceInstance, async (server) => {
        if (!(await exists(file))) throw new ProgramError(`the data of Backup ${ref.name} are gone`);
        const open = (): Readable => createReadStream(file);
        await postgres.restoreDatabase(databaseOf(server), { open, token, signal });
        return undefined;
      });
    },
    // The data stay as they are.
    remove: () => Promise.resolve(),
  });
}

function createJobReconcile<J extends Backup | Restore>(parts: OperatorParts, kind: JobKind<J>): Reconcile {
  const { type, run, remove, idField } = kind;
  return async (key, { signal }) => {
    // Reads from the API server, because a late cache would repeat finished work.
    const job = await parts.client.find<J>(type, core.refOf(key), { signal });
    if (job === undefined) return undefined;
    const writer = writerOf(parts, type, signal);
    if (core.isDeleting(job)) {
      await remove(job);
      await writer.removeFinalizer(job);
      return undefined;
    }
    if (core.isTrue(core.conditionsOf(job), "Ready")) return undefined;
    await writer.addFinalizer(job);
    try {
      const message = await run(job, signal);
      if (message !== undefined) {
        await writer.report(job, { isReady: false, reason: "Waiting", message });
        return { requeueAfterMs: waitMs };
      }
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
      await writer.report(job, { isReady: false, reason: "Failed", message: error.message });
      return { requeueAfterMs: afterFailureMs };
    }
    await writer.report(job, { isReady: true, reason: "Complete" }, { [idField]: job.metadata.uid });
    return undefined;
  };
}

function dumpFile(folder: string, backup: core.KubeObject): string {
  return join(folder, "backups", `${backup.metadata.uid}.dump`);
}

const partialOf = (file: string): string => `${file}.partial`;
