/** Restore claim → Restore of the provider, at the backup manager of the instance's type. */
import { restores } from "@klutch/api";
import type { Compose, Json } from "@klutch/crossplane";
import { apiVersionOf, textAt } from "@klutch/kube-core";
import { backupConfigName } from "@klutch/services";
import { answer, claimLabels, claimOf, noClaim } from "./composite.ts";

const reported = ["finishedAt", "restoreId", "state", "triggeredAt"];

/** The backup decides which instance it goes into. The provider refuses a claim that names another one. */
export const composeRestore: Compose = (request) => {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const type = textAt(composite, "spec", "serviceInstanceType") ?? "";
  const instanceName = textAt(composite, "spec", "instanceRef");
  const resource: Json = {
    apiVersion: apiVersionOf(restores),
    kind: restores.kind,
    metadata: { labels: claimLabels(claim) },
    spec: {
      forProvider: {
        backupName: textAt(composite, "spec", "backupRef") ?? "",
        ...(instanceName === undefined ? {} : { instanceName }),
      },
      providerConfigRef: { name: backupConfigName(type) },
    },
  };
  return answer(request, resource, reported);
};
