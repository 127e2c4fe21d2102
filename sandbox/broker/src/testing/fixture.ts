/** A broker over a real PostgreSQL server, and what its tests do again and again. */
import assert from "node:assert/strict";
import { startPostgres } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { createOsbClient, type OsbClient } from "@klutch/osb";
import { type Logger, silentLogger } from "@klutch/telemetry";
import { Client } from "pg";
import { startBroker } from "../broker.ts";
import type { BrokerConfig } from "../config.ts";
import { postgresql } from "../catalog.ts";

/** Credentials of tests at the broker. */
export const auth = { kind: "basic", username: "u", password: "p" } as const;

/** Each test file has one; the server and its data go when it is disposed. */
export interface BrokerFixture extends AsyncDisposable {
  readonly osb: OsbClient;
  readonly brokerUrl: string;
  /** URL of the server's superuser. */
  readonly adminUrl: string;
  readonly serverLog: string;
  /** Ends the broker, does `meanwhile`, and starts it again with the same server. */
  readonly restart: (meanwhile?: () => Promise<void>) => Promise<void>;
  /** Its server, for a broker that the test starts itself. */
  readonly config: BrokerConfig;
  /** Provisions the smallest plan and waits until that is done. */
  readonly provisioned: (instanceId: string) => Promise<void>;
  /** Waits for the running operation; throws when it fails. */
  readonly finished: (instanceId: string) => Promise<void>;
  /** Binds; gives back the URI. */
  readonly bound: (instanceId: string, bindingId: string) => Promise<string>;
  readonly unbind: (instanceId: string, bindingId: string) => Promise<void>;
  /** Deprovisions and waits until the instance is gone. */
  readonly deprovisioned: (instanceId: string) => Promise<void>;
  /** The superuser's URL of another database. */
  readonly adminOf: (database: string) => string;
}

/** Plan by its name, as requests carry it. */
export function planOf(name: string): { readonly serviceId: string; readonly planId: string } {
  const plan = postgresql.plans.find((candidate) => candidate.name === name);
  assert.ok(plan !== undefined, name);
  return { serviceId: postgresql.id, planId: plan.id };
}

export const nano: ReturnType<typeof planOf> = planOf("postgresql-single-nano");
export const place: { readonly organizationGuid: string; readonly spaceGuid: string } = {
  organizationGuid: "o",
  spaceGuid: "s",
};

export async function startFixture(
  options: { readonly logger?: Logger } & Pick<
    BrokerConfig,
    "backups" | "postgresPrograms" | "measureEveryMs"
  > = {},
): Promise<BrokerFixture> {
  const stack = new AsyncDisposableStack();
  const postgres = stack.use(await startPostgres());
  const config: BrokerConfig = {
    host: "127.0.0.1",
    port: 0,
    postgresUrl: postgres.url,
    username: auth.username,
    password: auth.password,
    secretKey: "0123456789abcdef0123456789abcdef",
    backups: options.backups,
    measureEveryMs: options.measureEveryMs,
    postgresPrograms: options.postgresPrograms ?? postgres.dumpPrograms,
    postgresLibraries: postgres.dumpLibraries,
  };
  const logger = options.logger ?? silentLogger;
  let broker = await startBroker(config, logger);
  let osb = createOsbClient({ url: `http://127.0.0.1:${broker.port}`, auth });
  const stop = async (): Promise<void> => {
    await osb[Symbol.asyncDispose]();
    await broker[Symbol.asyncDispose]();
  };
  stack.defer(stop);
  const finished = (instanceId: string): Promise<void> =>
    waitFor(`the operation on ${instanceId}`, async () => {
      const { state, description } = await osb.lastOperation({ instanceId });
      assert.notEqual(state, "failed", description);
      return state === "succeeded";
    }).then(() => undefined);
  return {
    get osb() {
      return osb;
    },
    get brokerUrl() {
      return `http://127.0.0.1:${broker.port}`;
    },
    adminUrl: postgres.url,
    config,
    serverLog: postgres.process.logFile,
    async restart(meanwhile = async () => undefined) {
      await stop();
      await meanwhile();
      broker = await startBroker(config, logger);
      osb = createOsbClient({ url: `http://127.0.0.1:${broker.port}`, auth });
    },
    finished,
    async provisioned(instanceId) {
      await osb.provision({ ...nano, ...place, instanceId });
      await finished(instanceId);
    },
    async bound(instanceId, bindingId) {
      const outcome = await osb.bind({ ...nano, instanceId, bindingId });
      assert.ok(outcome.kind === "done");
      return String(outcome.credentials["uri"]);
    },
    async unbind(instanceId, bindingId) {
      await osb.unbind({ ...nano, instanceId, bindingId });
    },
    async deprovisioned(instanceId) {
      await osb.deprovision({ ...nano, instanceId });
      await waitFor(`${instanceId} to be gone`, async () => {
        const answer = await osb.lastOperation({ instanceId }).catch(() => undefined);
        assert.notEqual(answer?.state, "failed", answer?.description ?? "");
        return answer === undefined;
      });
    },
    adminOf(database) {
      const url = new URL(postgres.url);
      url.pathname = `/${database}`;
      return url.href;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** A session; it ends with the block that opened it, and an end by the server is no error. */
export async function login(uri: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: uri, connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined);
  await client.connect();
  return Object.assign(client, {
    [Symbol.asyncDispose]: () => client.end().catch(() => undefined),
  });
}

/** Runs the statements in one session; gives back the rows of the last. */
export async function query(uri: string, ...statements: readonly string[]): Promise<unknown> {
  await using client = await login(uri);
  let rows: unknown;
  for (const statement of statements) ({ rows } = await client.query(statement));
  return rows;
}

/** The same credentials for another database. */
export function inDatabase(uri: string, database: string): string {
  const url = new URL(uri);
  url.pathname = `/${database}`;
  return url.href;
}

/** Name of the URI's database. */
export const databaseOf = (uri: string): string => new URL(uri).pathname.slice(1);

/** Name of the URI's user. */
export const userOf = (uri: string): string => new URL(uri).username;
