/** One client for each ProviderConfig of a backup manager. */
import { type BackupManagerClient, createBackupManagerClient } from "@klutch/backup-manager";
import type { BrokerConfig } from "@klutch/osb";
import { type Metrics, Secret } from "@klutch/telemetry";
import { andTelling, requestObserver } from "../broker/client-metrics.ts";
import { type ConfigSource, ConfiguredClients } from "../broker/configured-clients.ts";

/** How long one call may take. A call that is older than twice this is not on its way any more. */
const timeoutMs = 60_000;

/** Backup managers by name of their ProviderConfig. */
export type Managers = ConfiguredClients<BackupManagerClient>;

/** Without any client yet. */
export function createManagers(options: ConfigSource & { readonly metrics: Metrics }): Managers {
  const observe = requestObserver(options.metrics);
  return new ConfiguredClients(options, {
    serviceType: "backupmanager",
    create: ({ url, auth, tls }, answered) =>
      createBackupManagerClient(
        { url, credentials: credentialsOf(auth), tls, timeoutMs },
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
