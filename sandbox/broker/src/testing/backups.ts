/** A broker with a backup manager, and the client that Klutch uses for it. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BackupManagerClient, createBackupManagerClient } from "@klutch/backup-manager";
import { waitFor } from "@klutch/kube-testing";
import { Secret } from "@klutch/telemetry";
import type { BackupConfig } from "../backups/worker.ts";
import type { BrokerConfig } from "../config.ts";
import { auth, type BrokerFixture, startFixture } from "./fixture.ts";

/** A broker and its backup manager. */
export interface BackupFixture extends AsyncDisposable {
  readonly fixture: BrokerFixture;
  readonly folder: string;
  /** Returns the client of the broker that runs now. */
  readonly manager: () => BackupManagerClient;
  /** Backs up and waits; returns the number. */
  readonly backedUp: (instanceId: string) => Promise<number>;
  /** Waits until the restore is done. */
  readonly restored: (instanceId: string, backupId: number) => Promise<void>;
}

export async function startBackupFixture({
  onStep,
  ...config
}: Pick<BackupConfig, "onStep"> & Pick<BrokerConfig, "postgresPrograms"> = {}): Promise<BackupFixture> {
  const stack = new AsyncDisposableStack();
  const root = await mkdtemp(join(tmpdir(), "klutch-backups-"));
  stack.defer(() => rm(root, { recursive: true, force: true }));
  const folder = join(root, "files");
  const backups = { folder, retention: { days: 14, minCount: 1 }, onStep };
  const fixture = stack.use(await startFixture({ ...config, backups }));
  const clients = new Map<string, BackupManagerClient>();
  stack.defer(async () => {
    for (const client of clients.values()) await client[Symbol.asyncDispose]();
  });
  const manager = (): BackupManagerClient => {
    const url = `${fixture.brokerUrl}/backup-manager`;
    const client = clients.get(url) ?? clientOf(url);
    clients.set(url, client);
    return client;
  };
  return {
    fixture,
    folder,
    manager,
    backedUp: (instanceId) => backedUp(manager(), instanceId),
    restored: (instanceId, backupId) => restored(manager(), instanceId, backupId),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Returns the test's own client of a manager. */
export function clientOf(url: string): BackupManagerClient {
  const credentials = { username: auth.username, password: new Secret(auth.password) };
  return createBackupManagerClient({ url, credentials });
}

/** Backs up and waits; returns the number. */
export async function backedUp(manager: BackupManagerClient, instanceId: string): Promise<number> {
  const { backupId } = await manager.createBackup(instanceId);
  const state = await ended(async () => (await manager.getBackup({ instanceId, backupId })).state);
  assert.equal(state, "done", `backup ${backupId}`);
  return backupId;
}

/** Waits until the restore is done. */
export async function restored(
  manager: BackupManagerClient,
  instanceId: string,
  backupId: number,
): Promise<void> {
  const { restoreId } = await manager.createRestore({ instanceId, backupId });
  const state = await ended(async () => (await manager.getRestore({ instanceId, restoreId })).state);
  assert.equal(state, "done", `restore ${restoreId}`);
}

async function ended(ask: () => Promise<string>): Promise<string> {
  let state = "";
  await waitFor("the end", async () => {
    state = await ask();
    return state !== "queued" && state !== "running";
  });
  return state;
}
