/** A PostgreSQL server of the broker's own, for where nobody else runs one: in a container there are only the broker and its data. */
import { createHmac } from "node:crypto";
import { type PostgresServer, startPostgres } from "@klutch/engines";
import type { BrokerConfig, BrokerProcessConfig } from "./config.ts";

/** The configuration of a broker, and what has to run as long as it does. */
export interface PreparedBroker extends AsyncDisposable {
  readonly config: BrokerConfig;
  /** Rejects when the server ends although nobody asked it to. */
  readonly lost: Promise<never>;
}

/** Starts the server if the configuration names a folder for one. Throws `EngineError` when it does not start. */
export async function preparePostgresOf(config: BrokerProcessConfig): Promise<PreparedBroker> {
  const { postgres } = config;
  if ("url" in postgres)
    return {
      config: { ...config, postgresUrl: postgres.url },
      lost: Promise.withResolvers<never>().promise,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  const server = await startPostgres({ dataDir: postgres.folder, password: superuserPassword(config) });
  const lost = server.process.exited.then((code) => {
    throw new Error(
      `the broker's PostgreSQL server ended with code ${code}; its log is ${server.process.logFile}`,
    );
  });
  // Nobody may be listening any more when it happens.
  lost.catch(() => undefined);
  return {
    config: { ...config, postgresUrl: server.url, backups: backupsAt(config, server) },
    lost,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Follows from the key, so that it is written nowhere and the same at each start. */
function superuserPassword({ secretKey }: BrokerProcessConfig): string {
  return createHmac("sha256", secretKey).update("superuser of the broker's PostgreSQL").digest("base64url");
}

function backupsAt({ backups }: BrokerProcessConfig, server: PostgresServer): BrokerConfig["backups"] {
  if (backups === undefined) return undefined;
  const { dumpPrograms, dumpLibraries } = server;
  return {
    ...backups,
    postgresPrograms: backups.postgresPrograms ?? dumpPrograms,
    postgresLibraries: backups.postgresLibraries ?? dumpLibraries,
  };
}
