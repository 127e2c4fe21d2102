/** Finds the last good backup of each instance among the claims. No I/O. */
import { crdNameOf } from "@klutch/api";
import {
  type DynamicObject,
  findCondition,
  conditionsOf,
  textAt,
  wholeSeconds,
  type ResourceType,
} from "@klutch/kube-core";

/** A backup that succeeded, as far as its claim says it: the developer chose the instance, the control plane wrote the end. */
export interface GoodBackup {
  readonly serviceType: string;
  readonly instance: string;
  /** RFC 3339, by the clock of the backup manager. */
  readonly end: string;
}

const longestName = 253;

/** Returns it; undefined of a claim that is no backup, or of one that failed or runs. */
export function goodBackup(object: DynamicObject): GoodBackup | undefined {
  const serviceType = textAt(object, "spec", "serviceInstanceType") ?? "";
  const instance = textAt(object, "spec", "instanceRef") ?? "";
  const end = Date.parse(textAt(object.status, "managed", "finished_at") ?? "");
  const isReady = findCondition(conditionsOf(object), "Ready")?.status === "True";
  if (!isReady || instance === "" || instance.length > longestName || Number.isNaN(end)) return undefined;
  return /^[a-z0-9]{1,40}$/.test(serviceType) ? { serviceType, instance, end: wholeSeconds(end) } : undefined;
}

/** A claim with its kind. */
export interface BackupClaim {
  readonly type: Pick<ResourceType, "group" | "kind">;
  readonly namespace: string;
  readonly backup: GoodBackup | undefined;
}

/** Returns the end of the last one by the id of the instance's row: the instance is in the namespace and API group of its backup. */
export function lastBackups(claims: Iterable<BackupClaim>): ReadonlyMap<string, string> {
  const last = new Map<string, string>();
  for (const { type, namespace, backup } of claims) {
    if (backup === undefined || type.kind !== "Backup") continue;
    const api = crdNameOf({ group: type.group, resource: `${backup.serviceType}instances` });
    const id = `${api}/${namespace}/${backup.instance}`;
    const known = last.get(id);
    if (known === undefined || known < backup.end) last.set(id, backup.end);
  }
  return last;
}
