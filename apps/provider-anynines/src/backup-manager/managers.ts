/** One client for each ProviderConfig of a backup manager. */
import { type BackupManagerClient, createBackupManagerClient } from "@klutch/backup-manager";
import type { BrokerConfig } from "@klutch/osb";
import { type Metrics, Secret } from "@klutch/telemetry";
import {
  andTelling,
  type ConfigSource,
  ConfiguredClients,
  requestObserver,
} from "../provider-config/clients.ts";
import { callTimeoutMs } from "./made-once.ts";

/** Backup managers by name of their ProviderConfig. */
export type Managers = ConfiguredClients<BackupManagerClient>;

/** Without any client yet. */
export function createManagers(options: ConfigSource & { readonly metrics: Metrics }): Managers {
  const observe = requestObserver(options.metrics);
  return new ConfiguredClients(options, {
    serviceType: "backupmanager",
    create: ({ url, auth, tls }, answered) =>
      createBackupManagerClient(
        { url, credentials: credentialsOf(auth), tls, timeoutMs: callTimeoutMs },
        andTelling(observe, answered),
      ),
  });
}

function credentialsOf(
  auth: BrokerConfig["auth"],
): { readonly username: string; readonly password: Secret<string> } | undefined {
  if (auth?.kind !== "basic") return undefined;
  return { username: auth.username, password: new Secret(auth.password) };
}
