/**
 * Runs one PostgreSQL server for each instance, in a folder named after the UID of the instance. A record beside the folder keeps port and
 * key, so that a server that is started again is reached as before and knows the same passwords.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as dataServers from "@klutch/data-servers";
import { removeDataHome, startPostgres } from "@klutch/engines";
import { numberAt, textAt } from "@klutch/kube-core";
import { countStreaming, type Primary, roles, type Server, Standbys } from "./database.ts";

interface Running extends Primary {
  readonly standbys: Standbys;
  readonly owned: AsyncDisposableStack;
}

interface ServerRecord {
  /** Undefined before its first start. */
  readonly port: number | undefined;
  readonly key: string;
}

/** Options of `Servers`. */
export interface ServersOptions {
  /** Holds the folders of the servers. */
  readonly folder: string;
  readonly authority: dataServers.Authority;
  readonly reach: dataServers.Reach;
  /** Called when a server ended unasked. */
  readonly onEnd: (uid: string) => void;
}

/** Disposing it stops all servers; their data stay. */
export class Servers implements AsyncDisposable {
  readonly #options: ServersOptions;
  readonly #running = new Map<string, Running>();
  readonly #queue = new dataServers.KeyedQueue();

  constructor(options: ServersOptions) {
    this.#options = { ...options, folder: join(options.folder, "instances") };
  }

  /** Does one thing at a time with an instance, and passes its server if that runs. */
  with<T>(uid: string, work: (server: Server | undefined) => Promise<T>): Promise<T> {
    return this.#queue.run(uid, () => work(this.#alive(uid)));
  }

  /** Starts the server, or starts it again when its settings changed. Call it within `with`. */
  async start(uid: string, settings: Readonly<Record<string, string>>): Promise<Server> {
    const { authority, reach, onEnd } = this.#options;
    const running = this.#alive(uid);
    if (running !== undefined && isDeepStrictEqual(running.settings, settings)) return running;
    await this.#stop(uid);
    const record = (await readRecord(this.#recordFile(uid))) ?? {
      port: undefined,
      key: randomBytes(24).toString("base64url"),
    };
    await using stack = new AsyncDisposableStack();
    const { port } = stack.use(await this.#port(uid, record));
    const password = `superuser-${record.key}`;
    const dataDir = this.#home(uid);
    const tls = { ...settings, ...(await dataServers.postgresTls(authority, dataDir)) };
    const outside = dataServers.outsideDoor(reach, [roles.keeper, roles.replicator]);
    const server = stack.use(await startPostgres({ dataDir, port, password, settings: tls, outside }));
    void server.process.exited.then(() => {
      if (this.#running.get(uid)?.server === server) onEnd(uid);
    });
    const url = new URL(server.url);
    await dataServers.postgres.withSession(url, (client) =>
      dataServers.postgres.runAll(client, dataServers.postgres.closeCommonDatabases),
    );
    const standbys = this.#standbys(uid);
    // They stop first, because the server waits for those that follow it.
    stack.defer(() => standbys.stop());
    const { dumpPrograms: folder, dumpLibraries: libraries } = server;
    const programs = folder === undefined ? undefined : { folder, libraries };
    const reached = { url, host: reach.host, authority: authority.certificate, key: record.key };
    const started = { ...reached, programs, settings, server, standbys, owned: stack.move() };
    this.#running.set(uid, started);
    return started;
  }

  /**
   * Lets `count` standbys follow the server, and returns how many do; undefined when PostgreSQL comes without the program that copies
   * servers. Call it within `with`, while the server runs.
   */
  async follow(uid: string, count: number): Promise<number | undefined> {
    const running = this.#alive(uid);
    if (running === undefined) return 0;
    if (count > 0 && running.server.dumpPrograms === undefined) return undefined;
    await running.standbys.keep(running, count);
    return countStreaming(running);
  }

  /** Removes the server and its data. Call it within `with`. */
  async remove(uid: string): Promise<void> {
    await this.#stop(uid);
    await this.#standbys(uid).remove();
    await removeDataHome(this.#home(uid));
    await rm(this.#recordFile(uid), { force: true });
  }

  /** Stops servers without an object. Keeps their data, because a user has not asked to delete them. */
  async keepOnly(uids: ReadonlySet<string>): Promise<void> {
    for (const uid of this.#running.keys())
      if (!uids.has(uid)) await this.#queue.run(uid, () => this.#stop(uid));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.keys()].map((uid) => this.#queue.run(uid, () => this.#stop(uid))));
  }

  #alive(uid: string): Running | undefined {
    const running = this.#running.get(uid);
    return running?.server.process.hasExited === false ? running : undefined;
  }

  async #stop(uid: string): Promise<void> {
    const running = this.#running.get(uid);
    this.#running.delete(uid);
    await running?.owned.disposeAsync();
  }

  /** Reserves the port that it had, unless another program has it now. A server's record is written before its first start. */
  async #port(uid: string, { port, key }: ServerRecord): Promise<AsyncDisposable & { port: number }> {
    const others = new Set<number>();
    for (const name of await readdir(this.#options.folder).catch(() => [])) {
      const isOther = name.endsWith(".json") && name !== `${uid}.json`;
      const record = isOther ? await readRecord(join(this.#options.folder, name)) : undefined;
      if (record?.port !== undefined) others.add(record.port);
    }
    const kept = await dataServers.keepPort(this.#options.reach, port, others);
    if (kept.port !== port) {
      await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
      await dataServers.writeOwn(this.#recordFile(uid), JSON.stringify({ port: kept.port, key }));
    }
    return kept;
  }

  #standbys(uid: string): Standbys {
    const { authority, onEnd } = this.#options;
    return new Standbys({ home: this.#home(uid), authority, onEnd: () => onEnd(uid) });
  }

  #home(uid: string): string {
    if (!/^[0-9a-f-]{36}$/.test(uid)) throw new Error(`${uid} is no UID`);
    return join(this.#options.folder, uid);
  }

  #recordFile(uid: string): string {
    return `${this.#home(uid)}.json`;
  }
}

async function readRecord(file: string): Promise<ServerRecord | undefined> {
  const text = await dataServers.readIfThere(file);
  const kept: unknown = text === undefined ? undefined : JSON.parse(text);
  const [port, key] = [numberAt(kept, "port"), textAt(kept, "key")];
  return key === undefined ? undefined : { port, key };
}
