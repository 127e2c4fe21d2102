/** Restore claim → Restore of the provider, at the backup manager of the instance's type. */
import { restores } from "@klutch/api";
import type { Compose } from "@klutch/crossplane";
import { textAt } from "@klutch/kube-core";
import { backupConfigName } from "@klutch/services";
import { answer, noClaim } from "./composite.ts";
import { claimOf, managedResource } from "./managed-resource.ts";

const reported = ["finishedAt", "restoreId", "state", "triggeredAt"];

/** The backup decides which instance it goes into. The provider refuses a claim that names another one. */
export const composeRestore: Compose = (request) => {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const type = textAt(composite, "spec", "serviceInstanceType") ?? "";
  const instanceName = textAt(composite, "spec", "instanceRef");
  const resource = managedResource(claim, restores, {
    forProvider: {
      backupName: textAt(composite, "spec", "backupRef") ?? "",
      ...(instanceName === undefined ? {} : { instanceName }),
    },
    providerConfig: backupConfigName(type),
  });
  return answer(request, resource, reported);
};
