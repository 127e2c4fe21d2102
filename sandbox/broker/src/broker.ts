/** Starts the whole broker. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import type { postgres } from "@klutch/data-servers";
import { findDumpPrograms } from "@klutch/engines";
import { ListenError } from "@klutch/kube-runtime";
import type { Logger, Metrics } from "@klutch/telemetry";
import { createApp } from "./app.ts";
import { createBackupApp } from "./backups/app.ts";
import { BackupStore } from "./backups/store.ts";
import { Worker } from "./backups/worker.ts";
import { findPlan } from "./catalog.ts";
import type { BrokerConfig } from "./config.ts";
import type { Driver } from "./drivers/driver.ts";
import { openServers } from "./drivers/open-servers.ts";
import { PostgresDriver } from "./drivers/postgres.ts";
import { BrokerService, driverOf } from "./service.ts";
import { type Instance, openDatabase, Store } from "./store.ts";

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
  const queries = stack.use(await openDatabase(new URL(config.postgresUrl), logger));
  const drivers = await driversOf(config, logger);
  for (const driver of drivers) stack.use(driver);
  const { username, password, backups: backupConfig } = config;
  const instances = new Store(queries);
  const ofInstance = ({ planId }: Instance): Driver | undefined =>
    driverOf(drivers, findPlan(planId)?.serviceId);
  const parts = { instances, store: new BackupStore(queries), driverOf: ofInstance, logger };
  const backups =
    backupConfig === undefined ? undefined : stack.use(new Worker({ ...parts, ...backupConfig }));
  const service = new BrokerService({ store: instances, drivers, logger, backups });
  stack.defer(() => service.drain());
  await service.resume();
  await backups?.start();
  const backupApp =
    backups === undefined || backupConfig === undefined
      ? undefined
      : createBackupApp({ ...parts, ...backupConfig, worker: backups, username, password });
  const app = createApp({ service, username, password, logger, metrics, backups: backupApp });
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
    published,
    secretKey,
    programs: config.backups === undefined ? undefined : await dumpProgramsOf(config),
  });
  if (dataFolder === undefined) return [postgres];
  return [postgres, ...(await openServers({ folder: dataFolder, reach, secretKey, logger }))];
}

async function dumpProgramsOf({
  postgresPrograms: folder,
  postgresLibraries: libraries,
}: BrokerConfig): Promise<postgres.DumpPrograms | undefined> {
  if (folder === undefined) return findDumpPrograms();
  const found = await stat(join(folder, "pg_dump")).catch(() => undefined);
  return found === undefined ? undefined : { folder, libraries };
}
