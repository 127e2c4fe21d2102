/** Backup and Restore of the provider. No controller serves them yet. */
import {
  boolean,
  type CustomResourceDefinition,
  integer,
  object,
  oneOf,
  type Schema,
  string,
} from "@klutch/schema";
import type { KubeObject, StandardCondition } from "@klutch/kube-core";
import { managedConditions, managedCrd, type ManagedSpec, managedSpecFields } from "./managed-common.ts";

/** What to back up. The snake case is on the wire. */
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
}

export interface RestoreObservation {
  readonly instanceId?: string | undefined;
  readonly backupId?: number | undefined;
  readonly restoreId?: number | undefined;
  readonly state?: "queued" | "running" | "done" | "failed" | "deleted" | undefined;
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

const backupParameters: Schema<BackupParameters> = object(
  { instanceName: string({ description: "Name of the claim of the instance." }) },
  {
    encryption_key: string({ description: "Not used yet." }),
    exclude_from_auto_backup: boolean({ description: "Not used yet." }),
    credentials_updated_by_user: boolean({ description: "Not used yet." }),
  },
);

const backupObservation: Schema<BackupObservation> = object(
  {},
  {
    instanceId: string({ description: "Id of the instance at its broker." }),
    id: integer({ description: "Number of the backup at the backup manager." }),
    size: integer({ format: "int64", description: "Bytes." }),
    status: string({ description: "One of queued, running, done, failed, deleted." }),
    triggered_at: string({ description: "RFC 3339." }),
    finished_at: string({ description: "RFC 3339." }),
    downloadable: boolean({ description: "Whether the backup can be downloaded." }),
  },
);

export const backupCrd: CustomResourceDefinition = managedCrd({
  kind: "Backup",
  plural: "backups",
  description: "A backup of a service instance.",
  fields: {
    spec: object({ forProvider: backupParameters }, managedSpecFields),
    status: object({}, { atProvider: backupObservation, conditions: managedConditions }),
  },
});

const restoreParameters: Schema<RestoreParameters> = object({
  backupName: string({ description: "Name of the claim of the backup." }),
});

const restoreObservation: Schema<RestoreObservation> = object(
  {},
  {
    instanceId: string({ description: "Id of the instance at its broker." }),
    backupId: integer({ description: "Number of the backup." }),
    restoreId: integer({ description: "Number of the restore." }),
    state: oneOf(["queued", "running", "done", "failed", "deleted"], {
      description: "How far the restore is.",
    }),
    triggeredAt: string({ description: "RFC 3339." }),
    finishedAt: string({ description: "RFC 3339." }),
  },
);

export const restoreCrd: CustomResourceDefinition = managedCrd({
  kind: "Restore",
  plural: "restores",
  description: "Puts a backup back into its service instance.",
  fields: {
    spec: object({ forProvider: restoreParameters }, managedSpecFields),
    status: object({}, { atProvider: restoreObservation, conditions: managedConditions }),
  },
});
