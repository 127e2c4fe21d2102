/** Runs a PostgreSQL server of the broker's own, for places without one: a container has only the broker and its data. */
import { createHmac } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import * as dataServers from "@klutch/data-servers";
import { type PostgresServer, startPostgres } from "@klutch/engines";
import type { BrokerConfig, BrokerProcessConfig } from "./config.ts";
import { recordedPorts } from "./drivers/record.ts";

/** The configuration of a broker, and the server that must run as long as it does. */
export interface PreparedBroker extends AsyncDisposable {
  readonly config: BrokerConfig;
  /** Rejects when the server ends unasked. */
  readonly lost: Promise<never>;
}

/** Starts the server if the configuration names a folder for one. Throws `EngineError` when it does not start. */
export async function preparePostgresOf(config: BrokerProcessConfig): Promise<PreparedBroker> {
  const { postgres, reach } = config;
  await using stack = new AsyncDisposableStack();
  if ("url" in postgres) {
    const { promise: lost } = Promise.withResolvers<never>();
    return Object.assign(stack.move(), { config: { ...config, postgresUrl: postgres.url }, lost });
  }
  const { server, authority } = await startOwn(stack, config, postgres.folder);
  const { logFile, exited } = server.process;
  const lost = exited.then((code): never => {
    throw new Error(`the broker's PostgreSQL server ended with code ${code}; its log is ${logFile}`);
  });
  // The promise may reject before a caller listens.
  lost.catch(() => undefined);
  const prepared = {
    ...config,
    postgresUrl: server.url,
    published: { url: new URL(`postgres://${dataServers.hostInUrl(reach.host)}:${server.port}`), authority },
    postgresPrograms: config.postgresPrograms ?? server.dumpPrograms,
    postgresLibraries: config.postgresLibraries ?? server.dumpLibraries,
  };
  return Object.assign(stack.move(), { config: prepared, lost });
}

/** Starts it at the port that it had, with a certificate for the present host. */
async function startOwn(
  stack: AsyncDisposableStack,
  config: BrokerProcessConfig,
  folder: string,
): Promise<{ readonly server: PostgresServer; readonly authority: string }> {
  const { reach, dataFolder } = config;
  // The folder itself belongs to the server's user.
  const beside = `${folder}.broker`;
  await mkdir(beside, { recursive: true, mode: 0o700 });
  const naming = { name: "klutch-broker-postgresql", now: () => new Date(), host: reach.host };
  const authority = await dataServers.openAuthority(join(beside, "authority"), naming);
  const portFile = join(beside, "port");
  const kept = Number((await dataServers.readIfThere(portFile)) ?? Number.NaN);
  const others = dataFolder === undefined ? new Set<number>() : await recordedPorts(dataFolder);
  const { port } = stack.use(
    await dataServers.keepPort(reach, Number.isInteger(kept) ? kept : undefined, others),
  );
  await dataServers.writeOwn(portFile, String(port));
  const settings = await dataServers.postgresTls(authority, folder);
  const password = superuserPassword(config);
  const options = { dataDir: folder, port, password, settings, outside: dataServers.outsideDoor(reach) };
  return { server: stack.use(await startPostgres(options)), authority: authority.certificate };
}

/** Derives the password from the key, so that it is stored nowhere and the same at each start. */
export function superuserPassword({ secretKey }: Pick<BrokerProcessConfig, "secretKey">): string {
  return createHmac("sha256", secretKey).update("superuser of the broker's PostgreSQL").digest("base64url");
}
