/** The sandbox's real broker with its backup manager as its own process, so that it can be killed, with a real PostgreSQL behind it. */
import { join } from "node:path";
import { ownProgram, reservePorts, startPostgres, startProcess } from "@klutch/engines";

/** The broker and its database server. It has the user `u` with the password `p`. */
export interface BrokerProcess extends AsyncDisposable {
  readonly port: number;
  /** Port of its probes and metrics. */
  readonly probePort: number;
  readonly postgres: { readonly url: string; readonly port: number };
  kill(): Promise<void>;
  /** After `kill`. */
  start(): Promise<void>;
}

/** Its log and backups go to `folder`. */
export async function startBroker(folder: string): Promise<BrokerProcess> {
  await using starting = new AsyncDisposableStack();
  const postgres = starting.use(await startPostgres());
  const [port = 0, probePort = 0] = starting.use(await reservePorts(2)).ports;
  const start = () =>
    startProcess({
      name: "broker",
      command: process.execPath,
      args: [ownProgram("broker")],
      env: {
        BROKER_POSTGRES_URL: postgres.url,
        BROKER_USERNAME: "u",
        BROKER_PASSWORD: "p",
        BROKER_SECRET_KEY: "0123456789abcdef0123456789abcdef",
        BROKER_LISTEN: `127.0.0.1:${port}`,
        BROKER_PROBE_LISTEN: `127.0.0.1:${probePort}`,
        BROKER_MEASURE_INTERVAL: "1s",
        BROKER_BACKUP_FOLDER: join(folder, "backups"),
        ...(postgres.dumpPrograms === undefined ? {} : { BROKER_POSTGRES_PROGRAMS: postgres.dumpPrograms }),
      },
      logFile: join(folder, "broker.log"),
      ready: async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok,
    });
  let running = await start();
  starting.defer(() => running[Symbol.asyncDispose]());
  const stack = starting.move();
  return {
    port,
    probePort,
    postgres,
    kill: () => running.kill(),
    async start() {
      running = await start();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
