/** Backup and restore as a developer does them: what was destroyed between the two is back. */
import type { ResourceType } from "@klutch/kube-core";
import { waitForConditions } from "../objects.ts";
import { backupName, demoNamespace, restoreName } from "./claims.ts";
import {
  applyFiles,
  claimed,
  type Credentials,
  deleteClaim,
  withDatabase,
  type Workplace,
} from "./developer.ts";

/** Throws when what is back is not what was there. */
export async function backUpAndRestore(workplace: Workplace, credentials: Credentials): Promise<void> {
  const { progress } = workplace.context;
  await progress.step("kubectl apply: a Backup", async () => {
    await applyFiles(workplace, "backup.yaml");
    await ready(workplace, claimed.backups, backupName);
  });
  await withDatabase(credentials, (client) => client.query("drop table greetings"));
  progress.say("the table is dropped");
  await progress.step("kubectl apply: a Restore", async () => {
    await applyFiles(workplace, "restore.yaml");
    await ready(workplace, claimed.restores, restoreName);
  });
  const words = await withDatabase(credentials, async (client) => {
    const { rows } = await client.query<{ words: string }>("select words from greetings");
    return rows.map((row) => row.words).join(", ");
  });
  progress.say(`the restored table says: ${words}`);
  await progress.step("kubectl delete: restore and backup", async () => {
    await deleteClaim(workplace, claimed.restores, restoreName);
    await deleteClaim(workplace, claimed.backups, backupName);
  });
}

async function ready({ context }: Workplace, type: ResourceType, name: string): Promise<void> {
  await waitForConditions(context.clusters.appA.client, type, { namespace: demoNamespace, name }, ["Ready"]);
}
