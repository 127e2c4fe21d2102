/** The service broker, the PostgreSQL server whose databases it hands out, and the programs of the servers that it runs itself. */
import { join } from "node:path";
import { type PostgresServer, startPostgres } from "@klutch/engines";
import type { SandboxBase } from "../context.ts";
import { appProcess } from "../node-process.ts";
import { postgresFolder, serversFolder } from "../state.ts";
import { keepProcess, reportEnd } from "../supervise.ts";
import type { DataServers } from "./data-servers.ts";

/** User of the broker's HTTP API. */
export const brokerUser = "klutch";

/** Path at which the broker serves its backup manager, which has the same user. */
export const backupManagerPath = "/backup-manager";

/** A broker that runs. */
export interface SandboxBroker {
  /** URL of the server's superuser, with which the demo checks that objects are really gone; undefined if it is reachable by the broker only. */
  readonly postgresUrl: string | undefined;
  /** True if programs for backups of that server are available. */
  readonly hasBackups: boolean;
  /** Servers that it starts in addition to PostgreSQL databases. */
  readonly servers: DataServers;
}

/** Starts the broker. It ends the servers of instances before itself, and writes their data to disk. */
const stopTimeoutMs = 30_000;

/** Starts the broker and its PostgreSQL server. */
export async function startBroker(context: SandboxBase, servers: DataServers): Promise<SandboxBroker> {
  const { state, stack } = context;
  const { postgresPassword: password, brokerPassword, brokerKey } = state.secrets;
  const postgres = stack.use(
    await startPostgres({ dataDir: postgresFolder(state.folder), port: state.ports.postgres, password }),
  );
  const address = `127.0.0.1:${state.ports.broker}`;
  reportEnd(context, postgres.process);
  await keepProcess(
    context,
    appProcess("broker", {
      env: {
        BROKER_LISTEN: address,
        BROKER_POSTGRES_URL: postgres.url,
        BROKER_USERNAME: brokerUser,
        BROKER_PASSWORD: brokerPassword,
        BROKER_SECRET_KEY: brokerKey,
        BROKER_BACKUP_FOLDER: join(state.folder, "backups"),
        BROKER_DATA_FOLDER: Object.keys(servers).length === 0 ? "" : serversFolder(state.folder),
        ...programsFor(postgres),
      },
      // Servers of kept instances may have to recover first.
      readyTimeoutMs: 180_000,
      stopTimeoutMs,
      logFile: join(state.folder, "broker.log"),
      ready: async () => (await fetch(`http://${address}/healthz`)).ok,
    }),
  );
  return { postgresUrl: postgres.url, hasBackups: postgres.dumpPrograms !== undefined, servers };
}

/** Returns the path of `pg_dump` for the broker; without one it searches itself. */
function programsFor({ dumpPrograms, dumpLibraries }: PostgresServer): Readonly<Record<string, string>> {
  return {
    BROKER_POSTGRES_PROGRAMS: dumpPrograms ?? "",
    BROKER_POSTGRES_LIBRARIES: dumpLibraries ?? "",
  };
}
