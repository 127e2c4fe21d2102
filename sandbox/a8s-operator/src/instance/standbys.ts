/** The standbys of servers: each in a folder of its own beside the server's, started after it and stopped before it. */
import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { type Authority, postgresTls } from "@klutch/data-servers";
import { EngineError, type PostgresServer, removeDataHome, startStandby } from "@klutch/engines";
import { standbyName } from "../database/names.ts";
import { ensureSlots, replicationLogin } from "../database/replication.ts";
import type { Server } from "../database/server.ts";

/** What a server's standbys need of it. */
export interface Primary extends Server {
  readonly settings: Readonly<Record<string, string>>;
  readonly postgres: PostgresServer;
}

/** Of one server. Only one of its methods runs at a time. */
export class Standbys {
  readonly #home: string;
  readonly #authority: Authority;
  readonly #onEnd: () => void;
  readonly #running = new Map<number, PostgresServer>();

  /** `home`: the server's own. `onEnd` is told of one that ended although nobody asked it to. */
  constructor(options: {
    readonly home: string;
    readonly authority: Authority;
    readonly onEnd: () => void;
  }) {
    this.#home = options.home;
    this.#authority = options.authority;
    this.#onEnd = options.onEnd;
  }

  /** Starts those that do not run, and removes those that are too many. */
  async keep(primary: Primary, count: number): Promise<void> {
    for (const number of await this.#numbersOnDisk()) if (number > count) await this.#remove(number);
    for (const number of await ensureSlots(primary, count)) await this.#remove(number);
    for (let number = 1; number <= count; number++)
      if (this.#running.get(number)?.process.hasExited !== false) await this.#start(primary, number);
  }

  /** Their data stay. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((number) => this.#stop(number)));
  }

  /** With their data. */
  async remove(): Promise<void> {
    for (const number of await this.#numbersOnDisk()) await this.#remove(number);
  }

  async #start(primary: Primary, number: number): Promise<void> {
    const { settings, postgres } = primary;
    const name = standbyName(number);
    const dataDir = this.#homeOf(number);
    const start = async (): Promise<PostgresServer> =>
      startStandby({
        primary: postgres,
        dataDir,
        name,
        ...replicationLogin(primary),
        settings: { ...settings, ...(await postgresTls(this.#authority, dataDir)) },
      });
    const started = await start().catch(async (error: unknown) => {
      if (!(error instanceof EngineError)) throw error;
      // A copy that cannot be followed any more, such as one that was started with smaller bounds than the server has.
      await removeDataHome(dataDir);
      return start();
    });
    this.#running.set(number, started);
    void started.process.exited.then(() => {
      if (this.#running.get(number) === started) this.#onEnd();
    });
  }

  async #stop(number: number): Promise<void> {
    const running = this.#running.get(number);
    this.#running.delete(number);
    await running?.[Symbol.asyncDispose]();
  }

  async #remove(number: number): Promise<void> {
    await this.#stop(number);
    await removeDataHome(this.#homeOf(number));
  }

  #homeOf(number: number): string {
    return `${this.#home}.standby-${number}`;
  }

  async #numbersOnDisk(): Promise<readonly number[]> {
    const prefix = `${basename(this.#home)}.standby-`;
    const names = await readdir(dirname(this.#home));
    return names.filter((name) => name.startsWith(prefix)).map((name) => Number(name.slice(prefix.length)));
  }
}
