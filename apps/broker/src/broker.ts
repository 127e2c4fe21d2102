/** Starts the whole broker. */
import { serve } from "@hono/node-server";
import type { Logger } from "@klutch/telemetry";
import { Client, Pool } from "pg";
import { createApp } from "./app.ts";
import type { BrokerConfig } from "./config.ts";
import { Databases } from "./databases.ts";
import { BrokerService } from "./service.ts";
import { Store } from "./store.ts";

/** A broker that runs. */
export interface RunningBroker extends AsyncDisposable {
  readonly port: number;
}

/** Name of the broker's own database. */
const adminDatabase = "klutch_broker";

/** Prepares the broker's database, takes up what was interrupted, and serves. */
export async function startBroker(config: BrokerConfig, logger: Logger): Promise<RunningBroker> {
  await createAdminDatabase(config.postgresUrl);
  const url = new URL(config.postgresUrl);
  url.pathname = `/${adminDatabase}`;
  const pool = new Pool({ connectionString: url.href, max: 8 });
  pool.on("error", (error) => logger.warn("a database connection was lost", { error }));
  const store = new Store(pool);
  await store.prepare();
  const databases = new Databases({ pool, url: new URL(config.postgresUrl), secretKey: config.secretKey });
  const service = new BrokerService({ store, databases, logger });
  await service.resume();
  const { username, password } = config;
  const app = createApp({ service, username, password, logger });
  const { promise: port, resolve } = Promise.withResolvers<number>();
  const server = serve({ fetch: app.fetch, hostname: config.host, port: config.port }, (info) =>
    resolve(info.port),
  );
  return {
    port: await port,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      if ("closeIdleConnections" in server) server.closeIdleConnections();
      await closed.promise;
      await service.drain();
      await pool.end();
    },
  };
}

async function createAdminDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [adminDatabase]);
    if (rowCount === 0) await client.query(`create database ${adminDatabase}`);
    for (const name of [adminDatabase, "postgres"])
      await client.query(`revoke connect on database ${name} from public`);
  } finally {
    await client.end();
  }
}
