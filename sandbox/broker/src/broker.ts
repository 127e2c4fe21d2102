/** Starts the whole broker. */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import type { DumpPrograms } from "@klutch/data-servers";
import { findDumpPrograms } from "@klutch/engines";
import { ListenError } from "@klutch/kube-runtime";
import type { Logger, Metrics } from "@klutch/telemetry";
import { createApp } from "./app.ts";
import { prepareBackups, type PreparedBackups } from "./backups/start.ts";
import { findPlan, typeOfService } from "./catalog.ts";
import type { BrokerConfig } from "./config.ts";
import type { Driver } from "./drivers/driver.ts";
import { openServers } from "./drivers/open-servers.ts";
import { PostgresDriver } from "./drivers/postgres.ts";
import { BrokerService } from "./service.ts";
import { type Instance, openPool, Store } from "./store.ts";

/** A running broker. */
export interface RunningBroker extends AsyncDisposable {
  readonly port: number;
}

/** Prepares the broker's database, takes up what was interrupted, and serves. */
export async function startBroker(
  config: BrokerConfig,
  logger: Logger,
  metrics?: Metrics,
): Promise<RunningBroker> {
  await using stack = new AsyncDisposableStack();
  const pool = await openPool(new URL(config.postgresUrl), logger);
  stack.defer(() => pool.end());
  const drivers = await driversOf(config, logger);
  for (const driver of drivers) stack.use(driver);
  const driverOf = ({ planId }: Instance): Driver | undefined => {
    const type = typeOfService(findPlan(planId)?.serviceId);
    return drivers.find((driver) => driver.type === type);
  };
  const { username, password, backups: backupConfig } = config;
  const instances = new Store(pool);
  const parts = { username, password, pool, instances, driverOf, logger };
  let backups: PreparedBackups | undefined;
  if (backupConfig !== undefined)
    backups = stack.use(await prepareBackups({ ...parts, config: backupConfig }));
  const service = new BrokerService({ store: instances, drivers, logger, backups: backups?.worker });
  stack.defer(() => service.drain());
  await service.resume();
  await backups?.start();
  const app = createApp({ service, username, password, logger, metrics, backups: backups?.app });
  const port = await listen(stack, config, app.fetch);
  const owned = stack.move();
  return { port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function listen(
  stack: AsyncDisposableStack,
  config: BrokerConfig,
  fetch: (request: Request) => Response | Promise<Response>,
): Promise<number> {
  const { promise: port, resolve, reject } = Promise.withResolvers<number>();
  const hostname = config.host === undefined ? {} : { hostname: config.host };
  const server = serve({ fetch, port: config.port, ...hostname }, (info) => resolve(info.port));
  server.once("error", (cause) => reject(new ListenError("the broker", config, cause)));
  stack.defer(async () => {
    const closed = Promise.withResolvers<void>();
    server.close(() => closed.resolve());
    if ("closeIdleConnections" in server) server.closeIdleConnections();
    await closed.promise;
  });
  return port;
}

async function driversOf(config: BrokerConfig, logger: Logger): Promise<readonly Driver[]> {
  const { dataFolder, reach, secretKey, published } = config;
  const postgres = new PostgresDriver({
    url: new URL(config.postgresUrl),
    published: published?.url,
    authority: published?.authority,
    secretKey,
    programs: config.backups === undefined ? undefined : await dumpProgramsOf(config),
  });
  if (dataFolder === undefined) return [postgres];
  return [postgres, ...(await openServers({ folder: dataFolder, reach, secretKey, logger }))];
}

async function dumpProgramsOf({
  postgresPrograms: folder,
  postgresLibraries: libraries,
}: BrokerConfig): Promise<DumpPrograms | undefined> {
  if (folder === undefined) return findDumpPrograms();
  const isThere = await access(join(folder, "pg_dump")).then(
    () => true,
    () => false,
  );
  return isThere ? { folder, libraries } : undefined;
}
