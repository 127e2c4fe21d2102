/** The service broker and the PostgreSQL server whose databases it hands out. */
import { join } from "node:path";
import { startPostgres } from "@klutch/engines";
import type { SandboxBase } from "../context.ts";
import { appProcess } from "../node-process.ts";
import { postgresFolder } from "../state.ts";
import { keepProcess, reportEnd } from "../supervise.ts";

/** User of the broker's HTTP API. */
export const brokerUser = "klutch";

/** Where the broker serves its backup manager, which has the same user. */
export const backupManagerPath = "/backup-manager";

/** A broker that runs. */
export interface SandboxBroker {
  /** Of the server's superuser, with which the demo checks whether things are really gone. */
  readonly postgresUrl: string;
  /** Whether there are programs for backups of that server. */
  readonly hasBackups: boolean;
}

/** Starts both. */
export async function startBroker(context: SandboxBase): Promise<SandboxBroker> {
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
        // Looked for by the broker when the server came without them.
        ...(postgres.dumpPrograms === undefined ? {} : { BROKER_POSTGRES_PROGRAMS: postgres.dumpPrograms }),
      },
      logFile: join(state.folder, "broker.log"),
      ready: async () => (await fetch(`http://${address}/healthz`)).ok,
    }),
  );
  return { postgresUrl: postgres.url, hasBackups: postgres.dumpPrograms !== undefined };
}
