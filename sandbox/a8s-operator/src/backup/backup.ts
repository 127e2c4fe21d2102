/** Dumps the instance of each Backup. */
import { createWriteStream } from "node:fs";
import { access, mkdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { finished } from "node:stream/promises";
import { dumpDatabase } from "@klutch/data-servers";
import type { Clock, KubeClient } from "@klutch/kube";
import type { Informer, Reconcile } from "@klutch/kube-runtime";
import { databaseOf } from "../database/server.ts";
import { lookUp } from "../instance/lookup.ts";
import type { Servers } from "../instance/servers.ts";
import { type Backup, backups, type Postgresql } from "../kinds.ts";
import { createJobReconcile, dumpFile } from "./job.ts";

/** Objects that backups and restores use. */
export interface BackupParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly servers: Servers;
  readonly instances: Informer<Postgresql>;
  /** Holds the dumps. */
  readonly folder: string;
}

/** Returns the reconcile function, by the key of the Backup. */
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
      // It is whole, but a crash kept the operator from reporting it.
      if (await isThere(file)) return undefined;
      const found = lookUp(instances, backup.metadata.namespace, backup.spec.serviceInstance);
      if ("problem" in found) return found.problem;
      return servers.with(found.instance.metadata.uid ?? "", async (server) => {
        if (server === undefined) return `instance ${name} is not running yet`;
        const partial = `${file}.partial`;
        await mkdir(dirname(file), { recursive: true, mode: 0o700 });
        await rm(partial, { force: true });
        const to = createWriteStream(partial, { mode: 0o600, flush: true });
        await dumpDatabase(databaseOf(server), to, signal);
        await finished(to);
        await rename(partial, file);
        return undefined;
      });
    },
    remove: async (backup) => {
      for (const file of [dumpFile(folder, backup), `${dumpFile(folder, backup)}.partial`])
        await rm(file, { force: true });
    },
  });
}

/** Reports whether the file exists. */
export function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
