/** Dumps the instance of each Backup. */
import { access, rm } from "node:fs/promises";
import type { Clock, KubeClient } from "@klutch/kube";
import type { Informer, Reconcile } from "@klutch/kube-runtime";
import { dumpTo } from "../database/dumps.ts";
import { lookUp } from "../instance/lookup.ts";
import type { Servers } from "../instance/servers.ts";
import { type Backup, backups, type Postgresql } from "../kinds.ts";
import { createJobReconcile, dumpFile } from "./job.ts";

/** What backups and restores work with. */
export interface BackupParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly servers: Servers;
  readonly instances: Informer<Postgresql>;
  /** Holds the dumps. */
  readonly folder: string;
}

/** By the key of the Backup. */
export function createBackupReconcile(parts: BackupParts): Reconcile {
  const { client, clock, servers, instances, folder } = parts;
  return createJobReconcile<Backup>({
    client,
    clock,
    type: backups,
    idField: "backupID",
    async run(backup, signal) {
      const { name } = backup.spec.serviceInstance;
      const file = dumpFile(folder, backup);
      // Whole, but a crash kept it from being said.
      if (await isThere(file)) return undefined;
      const found = lookUp(instances, backup.metadata.namespace, backup.spec.serviceInstance);
      if ("problem" in found) return found.problem;
      return servers.with(found.instance.metadata.uid ?? "", async (server) => {
        if (server === undefined) return `instance ${name} is not running yet`;
        await dumpTo(server, file, signal);
        return undefined;
      });
    },
    remove: async (backup) => {
      for (const file of [dumpFile(folder, backup), `${dumpFile(folder, backup)}.partial`])
        await rm(file, { force: true });
    },
  });
}

/** Whether there is such a file. */
export function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
