/** Backup claim → Backup of the provider, at the backup manager of the instance's type. */
import { backups } from "@klutch/api";
import type { Compose } from "@klutch/crossplane";
import { textAt } from "@klutch/kube-core";
import { backupConfigName } from "@klutch/services";
import { answer, noClaim } from "./composite.ts";
import { claimOf, managedResource } from "./managed-resource.ts";

/** The snake case is on the wire. */
const reported = ["downloadable", "finished_at", "id", "size", "status", "triggered_at"];

export const composeBackup: Compose = (request) => {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const type = textAt(composite, "spec", "serviceInstanceType") ?? "";
  const resource = managedResource(claim, backups, {
    forProvider: { instanceName: textAt(composite, "spec", "instanceRef") ?? "" },
    providerConfig: backupConfigName(type),
  });
  return answer(request, resource, reported);
};
