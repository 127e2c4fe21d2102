/**
 * One PostgreSQL server for each instance, in a folder named after the instance's UID. Beside the folder stands a record with its port and
 * its key, written before anything else, so that a server that is started again is reached as before and knows the same passwords.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type PostgresServer,
  removeDataHome,
  reservePort,
  type ReservedPorts,
  reservePorts,
  startPostgres,
} from "@klutch/engines";
import { numberAt, textAt } from "@klutch/kube-core";
import { Turns } from "./turns.ts";

/** A server that runs. */
export interface Server {
  /** Of the superuser. */
  readonly url: URL;
  /** From it passwords are derived. */
  readonly key: string;
  readonly dumpPrograms: string | undefined;
  readonly dumpLibraries: string | undefined;
}

interface Running extends Server {
  readonly settings: string;
  readonly postgres: PostgresServer;
  readonly owned: AsyncDisposableStack;
}

interface ServerRecord {
  readonly port: number;
  readonly key: string;
}

/** Disposing it stops all servers; their data stay. */
export class Servers implements AsyncDisposable {
  readonly #folder: string;
  readonly #onEnd: (uid: string) => void;
  readonly #running = new Map<string, Running>();
  readonly #turns = new Turns();

  /** `onEnd` is told of a server that ended although nobody asked it to. */
  constructor(options: { readonly folder: string; readonly onEnd: (uid: string) => void }) {
    this.#folder = options.folder;
    this.#onEnd = options.onEnd;
  }

  /** Does one thing at a time with an instance, with its server if that runs. */
  with<T>(uid: string, work: (server: Server | undefined) => Promise<T>): Promise<T> {
    return this.#turns.take(uid, () => work(this.#alive(uid)));
  }

  /** Starts the server, or starts it again when its settings are others now. Only within `with`. */
  async start(uid: string, settings: Readonly<Record<string, string>>): Promise<Server> {
    const wanted = JSON.stringify(settings);
    const running = this.#alive(uid);
    if (running?.settings === wanted) return running;
    await this.#stop(uid);
    const record = await this.#record(uid);
    await using stack = new AsyncDisposableStack();
    const { port } = stack.use(await this.#port(uid, record));
    const password = `superuser-${record.key}`;
    const postgres = stack.use(await startPostgres({ dataDir: this.#home(uid), port, password, settings }));
    void postgres.process.exited.then(() => {
      if (this.#running.get(uid)?.postgres === postgres) this.#onEnd(uid);
    });
    const { dumpPrograms, dumpLibraries } = postgres;
    const url = new URL(postgres.url);
    const owned = stack.move();
    const started = { url, key: record.key, dumpPrograms, dumpLibraries, settings: wanted, postgres, owned };
    this.#running.set(uid, started);
    return started;
  }

  /** Removes the server and its data, for good. Only within `with`. */
  async remove(uid: string): Promise<void> {
    await this.#stop(uid);
    await removeDataHome(this.#home(uid));
    await rm(this.#recordFile(uid), { force: true });
  }

  /** Stops those of which there is no object any more. Their data stay: nobody said that they should go. */
  async keepOnly(uids: ReadonlySet<string>): Promise<void> {
    for (const uid of this.#running.keys())
      if (!uids.has(uid)) await this.#turns.take(uid, () => this.#stop(uid));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.keys()].map((uid) => this.#turns.take(uid, () => this.#stop(uid))));
  }

  #alive(uid: string): Running | undefined {
    const running = this.#running.get(uid);
    return running?.postgres.process.hasExited === false ? running : undefined;
  }

  async #stop(uid: string): Promise<void> {
    const running = this.#running.get(uid);
    this.#running.delete(uid);
    await running?.owned.disposeAsync();
  }

  /** As it was written at the first start. */
  async #record(uid: string): Promise<ServerRecord> {
    const kept = await readRecord(this.#recordFile(uid));
    const [port, key] = [numberAt(kept, "port"), textAt(kept, "key")];
    if (port !== undefined && key !== undefined) return { port, key };
    await using reserved = await reservePorts(1);
    return this.#write(uid, { port: reserved.ports[0] ?? 0, key: randomBytes(24).toString("base64url") });
  }

  async #write(uid: string, record: ServerRecord): Promise<ServerRecord> {
    const file = this.#recordFile(uid);
    await mkdir(join(this.#folder, "instances"), { recursive: true, mode: 0o700 });
    await writeFile(`${file}.partial`, JSON.stringify(record), { mode: 0o600 });
    await rename(`${file}.partial`, file);
    return record;
  }

  /** The port that it had, unless somebody else has that now. */
  async #port(uid: string, record: ServerRecord): Promise<AsyncDisposable & { readonly port: number }> {
    const same = await reservePort(record.port);
    const reserved: ReservedPorts = same ?? (await reservePorts(1));
    const port = reserved.ports[0] ?? 0;
    if (port !== record.port) await this.#write(uid, { ...record, port });
    return { port, [Symbol.asyncDispose]: () => reserved[Symbol.asyncDispose]() };
  }

  #home(uid: string): string {
    if (!/^[0-9a-f-]{36}$/.test(uid)) throw new Error(`${uid} is no UID`);
    return join(this.#folder, "instances", uid);
  }

  #recordFile(uid: string): string {
    return `${this.#home(uid)}.json`;
  }
}

/** Undefined when there is none. */
async function readRecord(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
