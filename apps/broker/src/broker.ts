/** Starts the whole broker. */
import { serve } from "@hono/node-server";
import { ListenError } from "@klutch/kube-runtime";
import type { Logger, Metrics } from "@klutch/telemetry";
import { createApp } from "./app.ts";
import type { BrokerConfig } from "./config.ts";
import { Databases } from "./databases.ts";
import { Maintenance } from "./maintenance.ts";
import { prepareServer } from "./server.ts";
import { BrokerService } from "./service.ts";
import { Store } from "./store.ts";

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
  const databases = new Databases({ maintenance, url, secretKey: config.secretKey });
  const service = new BrokerService({ store, databases, logger });
  await service.resume();
  const { username, password } = config;
  const app = createApp({ service, username, password, logger, metrics });
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
      await maintenance[Symbol.asyncDispose]();
    },
  };
}
