/** Reads the state of one backup from the managed resource and the backup manager, and whether it can be made. No I/O. */
import {
  type Backup,
  type BackupObservation,
  recordedPlanOf,
  type SeenBackup,
  type ServiceInstance,
  type UsedPlan,
  usedPlanOf,
} from "@klutch/api";
import type { Backup as FoundBackup } from "@klutch/backup-manager";
import { ExternalError, type Managed } from "@klutch/crossplane";
import { typeOfProviderConfig } from "@klutch/services";
import { timeText } from "../backup-manager/errors.ts";
import { shownName } from "../claims/names.ts";
import { notYet } from "../claims/waiting.ts";
import { bareConfigName, configNameOf } from "../provider-config/reference.ts";
import { checkFollows, typeInRegion } from "../provider-config/region.ts";
import { backupIdAnnotation, instanceIdAnnotation, instanceIdOf } from "../records/annotations.ts";
import type { CallSource } from "../records/made-once.ts";

/** Service and plan of a backup whose instance was gone when its usage began to be counted. */
const unknownPlan = "unknown";

/** Returns the record of the call that makes a Backup. */
export function backupCall(managed: Backup): CallSource {
  return { managed, idAnnotation: backupIdAnnotation, statusId: managed.status?.atProvider?.id };
}

/** The instance's id at its broker when the backup was asked for; undefined before. */
export function instanceIdOfBackup({ metadata, status }: Backup): string | undefined {
  return metadata.annotations?.[instanceIdAnnotation] ?? status?.atProvider?.instanceId;
}

/** As the manager has it; what was known of another backup goes. */
export function shownBackup(instanceId: string, found: FoundBackup): BackupObservation {
  const { id, state: status, size, triggeredAtMs, finishedAtMs, downloadable } = found;
  return {
    instanceId,
    id,
    size,
    status,
    triggered_at: timeText(triggeredAtMs),
    finished_at: timeText(finishedAtMs),
    downloadable,
  };
}

/** The manager has only the record of it, or nothing. */
export function shownDeleted(known: BackupObservation, instanceId: string, id: number): BackupObservation {
  return { ...known, instanceId, id, status: "deleted", downloadable: false };
}

/** Returns the plan that the backup counts for: that of its instance, which may be gone. */
function planOfBackup(backup: Backup, instances: readonly ServiceInstance[]): UsedPlan {
  const id = instanceIdOfBackup(backup);
  const instance = instances.find((one) => instanceIdOf(one) === id);
  if (instance !== undefined) return recordedPlanOf(instance) ?? usedPlanOf(instance);
  return { service: unknownPlan, plan: unknownPlan, config: configNameOf(backup) };
}

/** Returns the facts about a backup that its manager has, by which its usage is counted. */
export function seenBackup(
  managed: Backup,
  { size, sizeIsMalformed, finishedAtMs }: FoundBackup,
  instances: () => readonly ServiceInstance[],
): SeenBackup {
  const { creationTimestamp: createdAt } = managed.metadata;
  const plan = (): UsedPlan => planOfBackup(managed, instances());
  return { plan, createdAt, finishedAtMs, size, sizeIsMalformed: sizeIsMalformed === true };
}

/** The facts about the instance that the backup manager and later restores need. */
export interface InstanceIds {
  readonly instanceId: string;
  readonly serviceId: string;
}

/** `instances`: those of the claim that the backup names. Throws `NotYetError` until there is one that is ready. */
export function backupTarget(backup: Backup, instances: readonly ServiceInstance[]): InstanceIds {
  refuseInstanceSettings(backup);
  const { instanceName } = backup.spec.forProvider;
  const instance = onlyOne(backup, "instance", instanceName, instances);
  checkType(backup, instance, `the backup ${shownName(backup)}`);
  checkFollows(backup, instance, "Instance");
  return readyInstance(instance, "the backup");
}

/** Its ids when it is ready and stays. `what` begins then, for people. Throws `NotYetError`. */
export function readyInstance(instance: ServiceInstance, what: string): InstanceIds {
  const name = shownName(instance);
  if (instance.metadata.deletionTimestamp !== undefined)
    throw notYet(`the instance ${name} is being deleted`);
  const { instanceId, serviceId, state = "not made yet" } = instance.status?.atProvider ?? {};
  if (instanceId === undefined || serviceId === undefined || state !== "provisioned")
    throw notYet(`the instance ${name} is not ready: it is ${state}; ${what} begins when it is`);
  return { instanceId, serviceId };
}

/** The managed resource of the claim `name` beside the claim of `from`. Throws `NotYetError` when there is none, or more than one. */
export function onlyOne<M extends Managed>(
  from: Managed,
  kind: "instance" | "backup",
  name: string,
  found: readonly M[],
): M {
  const [one, other] = found;
  const where = `${kind} ${name} in the namespace of this ${from.kind}`;
  const waitingFor = kind === "backup" ? "Backup" : "Instance";
  if (one === undefined) throw notYet(`there is no ${where}`, waitingFor);
  if (other !== undefined) throw notYet(`there is more than one ${where}`, waitingFor);
  return one;
}

/** Fields that were declared and never had an effect. */
function refuseInstanceSettings({ spec }: Backup): void {
  const settings = ["encryption_key", "exclude_from_auto_backup", "credentials_updated_by_user"] as const;
  const set = settings.find((name) => spec.forProvider[name] !== undefined);
  if (set === undefined) return;
  throw new ExternalError(
    `spec.forProvider.${set} has no effect on a backup: it is a setting of the instance at the backup manager; remove it`,
    { reason: "Refused" },
  );
}

/** Throws when the type that was said is another than that of `other`. `what`: whose type was said, for people. */
export function checkType(managed: Managed, other: Managed, what: string): void {
  const [said, is] = [typeOf(managed), typeOf(other)];
  // People who compose managed resources themselves may name ProviderConfigs after something else than a type.
  if (said === undefined || is === undefined || said === is) return;
  throw new ExternalError(
    `serviceInstanceType of ${what} is ${said}, but ${shownName(other)} is of type ${is}; delete it and create it again with serviceInstanceType ${is}`,
    { reason: "Refused" },
  );
}

/** Undefined when neither labels nor the name of the ProviderConfig say a type. */
function typeOf(managed: Managed): string | undefined {
  const inRegion = typeInRegion(managed);
  if (inRegion !== undefined) return inRegion;
  const name = bareConfigName(managed);
  const type = typeOfProviderConfig(name);
  return type === name ? undefined : type;
}
