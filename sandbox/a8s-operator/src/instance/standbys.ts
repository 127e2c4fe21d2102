/** Runs the standbys of a server, each in a folder beside the server's. They start after the server and stop before it. */
import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { type Authority, postgresTls } from "@klutch/data-servers";
import { EngineError, type PostgresServer, removeDataHome, startStandby } from "@klutch/engines";
import { standbyName } from "../database/names.ts";
import { ensureSlots, replicationLogin } from "../database/replication.ts";
import type { Server } from "../database/server.ts";

/** A server that standbys can follow. */
export interface Primary extends Server {
  readonly settings: Readonly<Record<string, string>>;
  readonly postgres: PostgresServer;
}

/** The standbys of one server. Call one method at a time. */
export class Standbys {
  readonly #home: string;
  readonly #authority: Authority;
  readonly #onEnd: () => void;
  readonly #running = new Map<number, PostgresServer>();

  /** `home` is the server's own folder; `onEnd` is called when a standby ended unasked. */
  constructor(options: {
    readonly home: string;
    readonly authority: Authority;
    readonly onEnd: () => void;
  }) {
    this.#home = options.home;
    this.#authority = options.authority;
    this.#onEnd = options.onEnd;
  }

  /** Starts missing standbys, and removes surplus ones. */
  async keep(primary: Primary, count: number): Promise<void> {
    for (const number of await this.#numbersOnDisk()) if (number > count) await this.#remove(number);
    for (const number of await ensureSlots(primary, count)) await this.#remove(number);
    for (let number = 1; number <= count; number++)
      if (this.#running.get(number)?.process.hasExited !== false) await this.#start(primary, number);
  }

  /** Stops all; their data stay. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((number) => this.#stop(number)));
  }

  /** Removes all with their data. */
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
