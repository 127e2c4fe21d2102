/** Backup and Restore of the provider. See docs/reference/provider.md. */
import { boolean, integer, object, type Schema, string } from "@klutch/schema";
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import { type CrdPair, managedCrds, type ManagedSpec } from "./managed-common.ts";

/** Object to back up. The snake case is on the wire. */
export interface BackupParameters {
  /** Name of the claim of the instance. */
  readonly instanceName: string;
  readonly encryption_key?: string | undefined;
  readonly exclude_from_auto_backup?: boolean | undefined;
  readonly credentials_updated_by_user?: boolean | undefined;
}

export interface BackupObservation {
  readonly instanceId?: string | undefined;
  readonly id?: number | undefined;
  /** Bytes. */
  readonly size?: number | undefined;
  readonly status?: string | undefined;
  readonly triggered_at?: string | undefined;
  readonly finished_at?: string | undefined;
  readonly downloadable?: boolean | undefined;
}

export interface Backup extends KubeObject {
  readonly spec: ManagedSpec & { readonly forProvider: BackupParameters };
  readonly status?:
    | {
        readonly atProvider?: BackupObservation | undefined;
        readonly conditions?: readonly StandardCondition[] | undefined;
      }
    | undefined;
}

export interface RestoreParameters {
  /** Name of the claim of the backup. */
  readonly backupName: string;
  /** Name of the claim of the instance; must be that of the backup. Default: that of the backup. */
  readonly instanceName?: string | undefined;
}

export interface RestoreObservation {
  readonly instanceId?: string | undefined;
  readonly backupId?: number | undefined;
  readonly restoreId?: number | undefined;
  readonly state?: string | undefined;
  readonly triggeredAt?: string | undefined;
  readonly finishedAt?: string | undefined;
}

export interface Restore extends KubeObject {
  readonly spec: ManagedSpec & { readonly forProvider: RestoreParameters };
  readonly status?:
    | {
        readonly atProvider?: RestoreObservation | undefined;
        readonly conditions?: readonly StandardCondition[] | undefined;
      }
    | undefined;
}

const notOfABackup = "Refused: a setting of the instance at the backup manager, not of one backup.";

const backupParameters: Schema<BackupParameters> = object(
  { instanceName: string({ description: "Name of the claim of the instance." }) },
  {
    encryption_key: string({ description: notOfABackup }),
    exclude_from_auto_backup: boolean({ description: notOfABackup }),
    credentials_updated_by_user: boolean({ description: notOfABackup }),
  },
  { description: "What to back up." },
);

const backupObservation: Schema<BackupObservation> = object(
  {},
  {
    instanceId: string({ description: "Id of the instance at its broker." }),
    id: integer({ description: "Number of the backup at the backup manager." }),
    size: integer({ format: "int64", description: "Size of the backup in bytes." }),
    status: string({
      description: "One of queued, running, done, failed, deleted, or a newer word of the manager.",
    }),
    triggered_at: string({ description: "When the backup began, in RFC 3339." }),
    finished_at: string({ description: "When the backup ended, in RFC 3339." }),
    downloadable: boolean({ description: "Whether the backup can be downloaded." }),
  },
  { description: "The backup at the backup manager." },
);

export const backupCrds: CrdPair = managedCrds({
  kind: "Backup",
  plural: "backups",
  description: "A backup of a service instance.",
  forProvider: backupParameters,
  status: { atProvider: backupObservation },
});

const restoreParameters: Schema<RestoreParameters> = object(
  { backupName: string({ description: "Name of the claim of the backup." }) },
  {
    instanceName: string({
      description: "Name of the claim of the instance. It must be that of the backup, which is the default.",
    }),
  },
  { description: "What to restore." },
);

const restoreObservation: Schema<RestoreObservation> = object(
  {},
  {
    instanceId: string({ description: "Id of the instance at its broker." }),
    backupId: integer({ description: "Number of the backup at the backup manager." }),
    restoreId: integer({ description: "Number of the restore at the backup manager." }),
    state: string({
      description: "One of queued, running, done, failed, deleted, or a newer word of the manager.",
    }),
    triggeredAt: string({ description: "When the restore began, in RFC 3339." }),
    finishedAt: string({ description: "When the restore ended, in RFC 3339." }),
  },
  { description: "The restore at the backup manager." },
);

export const restoreCrds: CrdPair = managedCrds({
  kind: "Restore",
  plural: "restores",
  description: "Puts a backup back into its service instance, once.",
  forProvider: restoreParameters,
  status: { atProvider: restoreObservation },
});
