/** Restore claim → Restore of the provider, at the backup manager of the instance's type. */
import { backups, restores } from "@klutch/api";
import type { Compose, Json } from "@klutch/crossplane";
import { textAt } from "@klutch/kube-core";
import { backupConfigName } from "@klutch/services";
import { answer, noClaim } from "./composite.ts";
import { followed } from "./followed.ts";
import { claimOf, managedResource } from "./managed-resource.ts";

const reported = ["finishedAt", "restoreId", "state", "triggeredAt"];

type Labels = Readonly<Record<string, string>>;

/** The backup decides which instance it goes into. The provider refuses a claim that names another one. */
export const composeRestore: Compose = (request) => {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const type = textAt(composite, "spec", "serviceInstanceType") ?? "";
  const instanceName = textAt(composite, "spec", "instanceRef");
  const name = textAt(composite, "spec", "backupRef") ?? "";
  const restoreAt = (providerConfig: string, labels?: Labels): Json =>
    managedResource(claim, restores, {
      labels,
      forProvider: { backupName: name, ...(instanceName === undefined ? {} : { instanceName }) },
      providerConfig,
    });
  const usual = backupConfigName(type);
  const { config, labels, required } = followed(request, {
    claim,
    type,
    of: backups,
    name,
    usual,
    wanted: restoreAt(usual),
  });
  return { ...answer(request, restoreAt(config, labels), reported), required };
};
