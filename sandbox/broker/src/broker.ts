/** Starts the whole broker, with the drivers of the servers that this machine can run. */
import { chmod, stat } from "node:fs/promises";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import type { Hono } from "hono";
import { onLoopback, openAuthority, type postgres, type Reach } from "@klutch/data-servers";
import * as engines from "@klutch/engines";
import { ListenError } from "@klutch/kube-runtime";
import type { Logger, Metrics } from "@klutch/telemetry";
import { ActivityWatch } from "./activity.ts";
import { createApp } from "./app.ts";
import { createBackupApp } from "./backups/app.ts";
import { BackupStore } from "./backups/store.ts";
import { Worker } from "./backups/worker.ts";
import { findPlan } from "./catalog.ts";
import type { BrokerConfig } from "./config.ts";
import type { Driver, ServerKind } from "./drivers/driver.ts";
import { keyvalueKind } from "./drivers/keyvalue.ts";
import { logme2Kind } from "./drivers/logme2.ts";
import { mariadbKind } from "./drivers/mariadb.ts";
import { MessagingDriver } from "./drivers/messaging.ts";
import { mongodbKind } from "./drivers/mongodb.ts";
import { objectstorageKind } from "./drivers/objectstorage.ts";
import { OwnServers, type OwnServersOptions } from "./drivers/own-servers.ts";
import { PostgresDriver } from "./drivers/postgres.ts";
import { prometheusKind } from "./drivers/prometheus.ts";
import { searchKind } from "./drivers/search.ts";
import { BrokerService, driverOf } from "./service.ts";
import { type Instance, openDatabase, Store } from "./store.ts";

/** Prepares the broker's database, takes up what was interrupted, and serves. */
export async function startBroker(
  config: BrokerConfig,
  logger: Logger,
  metrics?: Metrics,
): Promise<AsyncDisposable & { readonly port: number }> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await openDatabase(new URL(config.postgresUrl), logger));
  const drivers = await driversOf(config, logger);
  for (const driver of drivers) stack.use(driver);
  const { username, password, backups: backupConfig } = config;
  const instances = new Store(database);
  const ofInstance = ({ planId }: Instance): Driver | undefined =>
    driverOf(drivers, findPlan(planId)?.serviceId);
  const parts = { instances, store: new BackupStore(database), driverOf: ofInstance, logger };
  const backups =
    backupConfig === undefined ? undefined : stack.use(new Worker({ ...parts, ...backupConfig }));
  const service = new BrokerService(instances, drivers, logger, backups);
  stack.defer(() => service.drain());
  await service.resume();
  const { measureEveryMs: everyMs } = config;
  const watch = stack.use(new ActivityWatch({ store: instances, driverOf: ofInstance, logger, everyMs }));
  watch.start();
  await backups?.start();
  const backupApp =
    backups === undefined || backupConfig === undefined
      ? undefined
      : createBackupApp({ ...parts, ...backupConfig, worker: backups, username, password });
  const app = createApp({ service, username, password, logger, metrics, backups: backupApp });
  const port = await listen(stack, config, app.fetch);
  return Object.assign(stack.move(), { port });
}

async function listen(stack: AsyncDisposableStack, config: BrokerConfig, fetch: Hono["fetch"]) {
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
  const { dataFolder, reach, secretKey, published, services } = config;
  const postgres = new PostgresDriver({
    url: new URL(config.postgresUrl),
    published,
    secretKey,
    programs: config.backups === undefined ? undefined : await dumpProgramsOf(config),
  });
  if (dataFolder === undefined) return [postgres];
  const options = { folder: dataFolder, reach, secretKey, logger, services };
  return [postgres, ...(await openServers(options)), ...(await openMessaging(options))];
}

async function dumpProgramsOf({
  postgresPrograms: folder,
  postgresLibraries: libraries,
}: BrokerConfig): Promise<postgres.DumpPrograms | undefined> {
  if (folder === undefined) return engines.findDumpPrograms();
  const found = await stat(join(folder, "pg_dump")).catch(() => undefined);
  return found === undefined ? undefined : { folder, libraries };
}

/** Options of `openServers`. */
export interface OpenServersOptions extends Pick<OwnServersOptions, "secretKey" | "logger" | "diskEveryMs"> {
  /** Holds everything; made if it does not exist. */
  readonly folder: string;
  /** Default: on loopback. */
  readonly reach?: Reach | undefined;
  /** Services to offer besides those that are always offered. Default: none. */
  readonly services?: readonly engines.OnDemandService[] | undefined;
}

/** Kinds by their Debian programs; those with a name are offered only when they are asked for. */
const kinds: readonly (readonly [
  engines.DebianName,
  (programs: engines.DebianPrograms) => ServerKind,
  engines.OnDemandService?,
])[] = [
  ["mariadb", mariadbKind],
  ["redis", keyvalueKind],
  ["prometheus", prometheusKind, "prometheus"],
];

/** Finds or fetches the programs. A service whose programs are missing is left out, and the log says which. */
export async function openServers(options: OpenServersOptions): Promise<readonly OwnServers[]> {
  const { logger, services = [] } = options;
  const wanted = kinds.filter(([, , type]) => type === undefined || services.includes(type));
  const programs = await Promise.all(wanted.map(([name]) => programsOf(name, logger)));
  const parts = await partsOf(options);
  const possible = wanted.flatMap(([, kindOf], index) => {
    const found = programs[index];
    return found === undefined ? [] : [kindOf(found)];
  });
  const built = await Promise.all(builtKinds.map((each) => builtKind(each, services, logger)));
  const all = [...possible, ...built.filter((kind) => kind !== undefined), ...(await searchKinds(options))];
  return all.map((kind) => new OwnServers({ ...options, ...parts, kind }));
}

/** Opens the driver of messaging if it is asked for and its programs exist. */
export async function openMessaging(options: OpenServersOptions): Promise<readonly MessagingDriver[]> {
  if (options.services?.includes("messaging") !== true) return [];
  const programs = await programsOf("rabbitmq", options.logger);
  return programs === undefined
    ? []
    : [new MessagingDriver({ ...options, ...(await partsOf(options)), programs })];
}

async function partsOf({
  folder,
  reach = onLoopback,
}: OpenServersOptions): Promise<Pick<OwnServersOptions, "root" | "reach" | "authority">> {
  const root = await engines.dataHome(folder);
  // Servers run as another user than root, and must pass through.
  await chmod(root, 0o711);
  const now = (): Date => new Date();
  const naming = { name: "klutch-broker", now, host: reach.host };
  return { root, reach, authority: await openAuthority(join(root, "authority"), naming) };
}

/** Kinds by the programs that are built when the first instance needs them, so that a start stays quick; as in `kinds`. */
const builtKinds: readonly (readonly [
  engines.EngineName,
  (obtain: () => Promise<string>) => ServerKind,
  engines.OnDemandService?,
])[] = [
  ["versitygw", objectstorageKind],
  ["ferretdb", mongodbKind, "mongodb"],
];

async function builtKind(
  [server, kindOf, type]: (typeof builtKinds)[number],
  services: readonly engines.OnDemandService[],
  logger: Logger,
): Promise<ServerKind | undefined> {
  if (type !== undefined && !services.includes(type)) return undefined;
  const obstacle = await engines.engineObstacle(server);
  if (obstacle === undefined) {
    const progress = (line: string): void => logger.info("building a data server", { line });
    return kindOf(() => engines.resolveEngine(server, { progress }));
  }
  logger.warn(notOffered, { server, error: obstacle });
  return undefined;
}

/** Kinds on OpenSearch. */
const opensearchKinds = { search: searchKind, logme2: logme2Kind } as const;

async function searchKinds({ logger, services = [] }: OpenServersOptions): Promise<readonly ServerKind[]> {
  const wanted = (["search", "logme2"] as const).filter((type) => services.includes(type));
  if (wanted.length === 0) return [];
  const error = await engines.opensearchObstacle();
  const progress = (line: string): void => logger.info("fetching a data server", { line });
  const obtain = (): Promise<engines.OpensearchProgram> => engines.resolveOpensearch({ progress });
  if (error === undefined) return wanted.map((type) => opensearchKinds[type](obtain));
  logger.warn(notOffered, { server: "opensearch", error });
  return [];
}

const notOffered = "a data server cannot be run, so its services are not offered";

async function programsOf(
  name: engines.DebianName,
  logger: Logger,
): Promise<engines.DebianPrograms | undefined> {
  try {
    const progress = (line: string): void => logger.info("fetching a data server", { line });
    const programs = await engines.resolveDebian(name, { progress });
    logger.info("a data server can be run", { server: name, version: programs.version });
    return programs;
  } catch (error) {
    if (!(error instanceof engines.EngineError) || error.code !== "PackageMissing") throw error;
    logger.warn(notOffered, { server: name, error });
    return undefined;
  }
}
