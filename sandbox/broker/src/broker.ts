/** Starts the whole broker. */
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { ListenError } from "@klutch/kube-runtime";
import type { Logger, Metrics } from "@klutch/telemetry";
import { createApp } from "./app.ts";
import type { Dumps } from "./backup-manager/dumps.ts";
import { PostgresDumps } from "./backup-manager/postgres/postgres-dumps.ts";
import { programFolders } from "./backup-manager/postgres/programs.ts";
import { prepareBackups, type PreparedBackups } from "./backup-manager/start.ts";
import { findPlan, serviceId, type ServiceType } from "./catalog.ts";
import type { BrokerConfig } from "./config.ts";
import { Databases } from "./databases.ts";
import { Maintenance } from "./maintenance.ts";
import { prepareServer } from "./server.ts";
import { postgresParameters } from "./parameters.ts";
import { openServers } from "./servers/open-servers.ts";
import { BrokerService, type ServiceDefinition } from "./service.ts";
import { type Binding, Store } from "./store.ts";

/** A broker that runs. */
export interface RunningBroker extends AsyncDisposable {
  readonly port: number;
}

/** Prepares the broker's database, takes up what was interrupted, and serves. */
export async function startBroker(
  config: BrokerConfig,
  logger: Logger,
  metrics?: Metrics,
): Promise<RunningBroker> {
  await prepareServer(config.postgresUrl);
  const url = new URL(config.postgresUrl);
  const maintenance = new Maintenance(url, logger);
  const store = new Store(maintenance.pool);
  await store.prepare();
  const { dataFolder, secretKey, published = { url, authority: undefined } } = config;
  const databases = new Databases({ maintenance, secretKey, ...published });
  const bindingsOf = (instanceId: string): Promise<readonly Binding[]> => store.bindingsOf(instanceId);
  const servers =
    dataFolder === undefined
      ? undefined
      : await openServers({ folder: dataFolder, reach: config.reach, secretKey, bindingsOf, logger });
  const services = new Map<ServiceType, ServiceDefinition>([
    ["postgresql", { backend: databases, parameters: postgresParameters }],
    ...(servers?.definitions ?? []),
  ]);
  const backups = await backupsOf(config, {
    maintenance,
    store,
    databases,
    url,
    logger,
    further: servers?.dumps ?? [],
  });
  const service = new BrokerService({ store, services, logger, backups });
  await service.resume();
  await backups?.start();
  const { username, password } = config;
  const app = createApp({ service, username, password, logger, metrics, backups: backups?.app });
  const { promise: port, resolve, reject } = Promise.withResolvers<number>();
  const { host, port: wanted } = config;
  const server = serve(
    { fetch: app.fetch, port: wanted, ...(host === undefined ? {} : { hostname: host }) },
    (info) => resolve(info.port),
  );
  server.once("error", (cause) => reject(new ListenError("the broker", config, cause)));
  return {
    port: await port,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      if ("closeIdleConnections" in server) server.closeIdleConnections();
      await closed.promise;
      await service.drain();
      await backups?.[Symbol.asyncDispose]();
      await servers?.[Symbol.asyncDispose]();
      await maintenance[Symbol.asyncDispose]();
    },
  };
}

/** Undefined when the configuration names no folder for backups. */
async function backupsOf(
  { backups: config, secretKey, username, password }: BrokerConfig,
  parts: {
    readonly maintenance: Maintenance;
    readonly store: Store;
    readonly databases: Databases;
    readonly url: URL;
    readonly logger: Logger;
    readonly further: readonly Dumps[];
  },
): Promise<PreparedBackups | undefined> {
  if (config === undefined) return undefined;
  const { maintenance, store, databases, url, logger, further } = parts;
  const postgres = new PostgresDumps({
    serviceId,
    maintenance,
    databases,
    bindingsOf: (instanceId) => store.bindingsOf(instanceId),
    url,
    folders: await programFolders(config.postgresPrograms, config.searchPath),
    libraries: config.postgresLibraries,
    workFolder: join(config.folder, "work"),
    onStep: config.onStep,
    onSkipped: (instance, words) => logger.warn("some grants were not restored", { instance, words }),
  });
  return prepareBackups({
    config,
    secretKey,
    username,
    password,
    maintenance,
    instances: store,
    dumps: [postgres, ...further],
    serviceOf: ({ planId }) => findPlan(planId)?.serviceId ?? serviceId,
    logger,
  });
}
