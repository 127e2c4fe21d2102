/** Replaces the data of an instance by the dump that a Restore names. */
import { createReadStream } from "node:fs";
import { ProgramError, restoreDatabase } from "@klutch/data-servers";
import type { Reconcile } from "@klutch/kube-runtime";
import { conditionsOf, isTrue } from "@klutch/kube-core";
import { databaseOf } from "../database/server.ts";
import { lookUp } from "../instance/lookup.ts";
import { type Backup, backups, type Restore, restores } from "../kinds.ts";
import { type BackupParts, isThere } from "./backup.ts";
import { createJobReconcile, dumpFile } from "./job.ts";

/** Returns the reconcile function, by the key of the Restore. */
export function createRestoreReconcile(parts: BackupParts): Reconcile {
  const { client, clock, servers, instances, folder } = parts;
  return createJobReconcile<Restore>({
    client,
    clock,
    type: restores,
    idField: "restoreID",
    async run({ metadata, spec }, signal) {
      const { namespace, uid = "" } = metadata;
      const { name } = spec.serviceInstance;
      const backup = await client.find<Backup>(backups, { namespace, name: spec.backupName }, { signal });
      if (backup === undefined) return `no Backup ${spec.backupName} in namespace ${namespace}`;
      const source = backup.spec.serviceInstance.name;
      if (source !== name)
        return `spec.backupName is ${spec.backupName}, which is of ${source}; only backups of ${name} go into ${name}`;
      if (!isTrue(conditionsOf(backup), "Ready")) return `Backup ${spec.backupName} is not ready yet`;
      const found = lookUp(instances, namespace, spec.serviceInstance);
      if ("problem" in found) return found.problem;
      const file = dumpFile(folder, backup);
      if (!(await isThere(file))) throw new ProgramError(`the data of Backup ${spec.backupName} are gone`);
      return servers.with(found.instance.metadata.uid ?? "", async (server) => {
        if (server === undefined) return `instance ${name} is not running yet`;
        await restoreDatabase(databaseOf(server), () => createReadStream(file), { token: uid, signal });
        return undefined;
      });
    },
    // The data stay as they are.
    remove: () => Promise.resolve(),
  });
}
