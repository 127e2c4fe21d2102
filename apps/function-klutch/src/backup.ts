/** Backup claim → Backup of the provider, at the backup manager of the instance's type. */
import { backups } from "@klutch/api";
import type { Compose, Json } from "@klutch/crossplane";
import { apiVersionOf, textAt } from "@klutch/kube-core";
import { backupConfigName } from "@klutch/services";
import { answer, claimLabels, claimOf, noClaim } from "./composite.ts";

/** The snake case is on the wire. */
const reported = ["downloadable", "finished_at", "id", "size", "status", "triggered_at"];

export const composeBackup: Compose = (request) => {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const type = textAt(composite, "spec", "serviceInstanceType") ?? "";
  const resource: Json = {
    apiVersion: apiVersionOf(backups),
    kind: backups.kind,
    metadata: { labels: claimLabels(claim) },
    spec: {
      forProvider: { instanceName: textAt(composite, "spec", "instanceRef") ?? "" },
      providerConfigRef: { name: backupConfigName(type) },
    },
  };
  return answer(request, resource, reported);
};
