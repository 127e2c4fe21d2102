/** The service broker, the PostgreSQL server whose databases it hands out, and the programs of the servers that it runs itself. */
import { join } from "node:path";
import {
  type DebianPrograms,
  EngineError,
  engineObstacle,
  type OnDemandService,
  resolveDebian,
  startPostgres,
} from "@klutch/engines";
import type { SandboxBase } from "../context.ts";
import { together } from "../machine.ts";
import type { Progress } from "../progress.ts";
import { postgresFolder, serversFolder } from "../state.ts";
import { keepApp, reportEnd } from "../supervise.ts";

/** User of the broker's HTTP API. */
export const brokerUser = "klutch";

/** Path at which the broker serves its backup manager, which has the same user. */
export const backupManagerPath = "/backup-manager";

/** Programs by type of data service; unavailable ones are absent. */
export type DataServers = Readonly<Partial<Record<"mariadb" | "keyvalue", DebianPrograms>>>;

/** A broker that runs. */
export interface SandboxBroker {
  /** URL of the server's superuser, with which the demo checks that objects are really gone; undefined if only the broker reaches it. */
  readonly postgresUrl: string | undefined;
  /** True if programs for backups of that server are available. */
  readonly hasBackups: boolean;
  /** Servers that it starts in addition to PostgreSQL databases. */
  readonly servers: DataServers;
}

/** Downloads missing programs. Reports unavailable ones in one line, and the sandbox omits that service. `resolve`: for tests. */
export async function obtainDataServers(
  progress: Pick<Progress, "say">,
  signal: AbortSignal,
  resolve: typeof resolveDebian = resolveDebian,
): Promise<DataServers> {
  const obtain = async (name: "mariadb" | "redis", title: string): Promise<DebianPrograms | undefined> => {
    try {
      return await resolve(name, { progress: (line) => progress.say(line), signal });
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== "PackageMissing") throw error;
      progress.say(`${title} is not offered: ${error.message}`);
      return undefined;
    }
  };
  const [mariadb, keyvalue] = await together([obtain("mariadb", "MariaDB"), obtain("redis", "KeyValue")]);
  return { ...(mariadb && { mariadb }), ...(keyvalue && { keyvalue }) };
}

/** Returns the types that the broker offers with these servers. It builds that of object storage with the first instance, so a start does not wait for it. */
export async function offeredTypes(
  servers: DataServers,
  services: readonly OnDemandService[] = [],
): Promise<readonly string[]> {
  const own = Object.keys(servers);
  // Without a server of its own, the broker has no folder for one.
  const isBuilt = own.length + services.length > 0 && (await engineObstacle("versitygw")) === undefined;
  return ["postgresql", ...own, ...(isBuilt ? ["objectstorage"] : []), ...services];
}

/** Starts the broker and its PostgreSQL server. It offers `services` besides. */
export async function startBroker(
  context: SandboxBase,
  servers: DataServers,
  services: readonly OnDemandService[],
): Promise<SandboxBroker> {
  const { folder, ports, secrets } = context.state;
  const dataDir = postgresFolder(folder);
  const postgres = context.stack.use(
    await startPostgres({ dataDir, port: ports.postgres, password: secrets.postgresPassword }),
  );
  reportEnd(context, postgres.process);
  const address = `127.0.0.1:${ports.broker}`;
  await keepApp(context, "broker", {
    env: {
      BROKER_LISTEN: address,
      BROKER_POSTGRES_URL: postgres.url,
      BROKER_USERNAME: brokerUser,
      BROKER_PASSWORD: secrets.brokerPassword,
      BROKER_SECRET_KEY: secrets.brokerKey,
      BROKER_BACKUP_FOLDER: join(folder, "backups"),
      BROKER_DATA_FOLDER: Object.keys(servers).length + services.length === 0 ? "" : serversFolder(folder),
      BROKER_SERVICES: services.join(","),
      // Without these paths the broker searches itself.
      BROKER_POSTGRES_PROGRAMS: postgres.dumpPrograms ?? "",
      BROKER_POSTGRES_LIBRARIES: postgres.dumpLibraries ?? "",
    },
    // Servers of kept instances may have to recover first.
    readyTimeoutMs: 180_000,
    // It ends the servers of instances before itself, and writes their data to disk.
    stopTimeoutMs: 30_000,
    logFile: join(folder, "broker.log"),
    ready: `http://${address}/healthz`,
  });
  return { postgresUrl: postgres.url, hasBackups: postgres.dumpPrograms !== undefined, servers };
}
