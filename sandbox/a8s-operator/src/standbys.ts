/** Runs the standbys of a server, each in a folder beside the server's. They start after the server and stop before it. */
import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { type Authority, postgresTls } from "@klutch/data-servers";
import { EngineError, type PostgresServer, removeDataHome, startStandby } from "@klutch/engines";
import { ensureSlots, passwordOf, roles, type Server, standbyName } from "./database.ts";

/** A server that standbys can follow. */
export interface Primary extends Server {
  readonly settings: Readonly<Record<string, string>>;
  readonly server: PostgresServer;
}

/** Options of `Standbys`. */
export interface StandbysOptions {
  /** The server's own folder. */
  readonly home: string;
  readonly authority: Authority;
  /** Called when a standby ended unasked. */
  readonly onEnd: () => void;
}

/** The standbys of one server. Call one method at a time. */
export class Standbys {
  readonly #options: StandbysOptions;
  readonly #running = new Map<number, PostgresServer>();

  constructor(options: StandbysOptions) {
    this.#options = options;
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
    const { settings, server } = primary;
    const name = standbyName(number);
    const dataDir = this.#homeOf(number);
    const start = async (): Promise<PostgresServer> =>
      startStandby({
        primary: server,
        dataDir,
        name,
        user: roles.replicator,
        password: passwordOf(primary, roles.replicator),
        settings: { ...settings, ...(await postgresTls(this.#options.authority, dataDir)) },
      });
    const started = await start().catch(async (error: unknown) => {
      if (!(error instanceof EngineError)) throw error;
      // A copy that cannot be followed any more, such as one that was started with smaller bounds than the server has.
      await removeDataHome(dataDir);
      return start();
    });
    this.#running.set(number, started);
    void started.process.exited.then(() => {
      if (this.#running.get(number) === started) this.#options.onEnd();
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
    return `${this.#options.home}.standby-${number}`;
  }

  async #numbersOnDisk(): Promise<readonly number[]> {
    const prefix = `${basename(this.#options.home)}.standby-`;
    const names = await readdir(dirname(this.#options.home));
    return names.filter((name) => name.startsWith(prefix)).map((name) => Number(name.slice(prefix.length)));
  }
}
