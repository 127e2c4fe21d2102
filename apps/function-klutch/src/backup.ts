/** Backup claim → Backup of the provider, at the backup manager of the instance's type. */
import { backups, serviceInstances } from "@klutch/api";
import type { Compose, Json } from "@klutch/crossplane";
import { textAt } from "@klutch/kube-core";
import { backupConfigName } from "@klutch/services";
import { answer, noClaim } from "./composite.ts";
import { followedManager } from "./followed.ts";
import { claimOf, managedResource } from "./managed-resource.ts";

/** The snake case is on the wire. */
const reported = ["downloadable", "finished_at", "id", "size", "status", "triggered_at"];

type Labels = Readonly<Record<string, string>>;

export const composeBackup: Compose = (request) => {
  const { composite } = request;
  const claim = claimOf(composite);
  if (claim === undefined) return noClaim;
  const type = textAt(composite, "spec", "serviceInstanceType") ?? "";
  const name = textAt(composite, "spec", "instanceRef") ?? "";
  const backupAt = (providerConfig: string, labels?: Labels): Json =>
    managedResource(claim, backups, { labels, forProvider: { instanceName: name }, providerConfig });
  const usual = backupConfigName(type);
  const found = followedManager(request, {
    claim,
    type,
    of: serviceInstances,
    name,
    usual,
    wanted: backupAt(usual),
  });
  if ("answer" in found) return found.answer;
  const { config, labels, required } = found;
  return { ...answer(request, backupAt(config, labels), reported), required };
};
