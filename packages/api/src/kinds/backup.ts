/** Backup and Restore of the provider. Source: reference/provider.md §1.4, §1.5. The controllers come with a later issue. */
import { boolean, type CustomResourceDefinition, integer, object, oneOf, string } from "@klutch/schema";
import { managedConditions, managedCrd, managedSpecFields } from "./managed-common.ts";

export const backupCrd: CustomResourceDefinition = managedCrd({
  kind: "Backup",
  plural: "backups",
  description: "A backup of a service instance.",
  fields: {
    spec: object(
      {
        forProvider: object(
          { instanceName: string({ description: "Name of the claim of the instance." }) },
          {
            encryption_key: string(),
            exclude_from_auto_backup: boolean(),
            credentials_updated_by_user: boolean(),
          },
        ),
      },
      managedSpecFields,
    ),
    status: object(
      {},
      {
        atProvider: object(
          {},
          {
            instanceId: string(),
            id: integer(),
            size: integer({ format: "int64", description: "Bytes." }),
            status: string(),
            triggered_at: string(),
            finished_at: string(),
            downloadable: boolean(),
          },
        ),
        conditions: managedConditions,
      },
    ),
  },
});

export const restoreCrd: CustomResourceDefinition = managedCrd({
  kind: "Restore",
  plural: "restores",
  description: "Puts a backup back into its service instance.",
  fields: {
    spec: object(
      { forProvider: object({ backupName: string({ description: "Name of the claim of the backup." }) }) },
      managedSpecFields,
    ),
    status: object(
      {},
      {
        atProvider: object(
          {},
          {
            instanceId: string(),
            backupId: integer(),
            restoreId: integer(),
            state: oneOf(["queued", "running", "done", "failed", "deleted"]),
            triggeredAt: string(),
            finishedAt: string(),
          },
        ),
        conditions: managedConditions,
      },
    ),
  },
});
