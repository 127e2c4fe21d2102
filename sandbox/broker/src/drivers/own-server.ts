/**
 * Keeps one server running. It owns the process: nothing else starts or stops it.
 *
 * | state    | goes to                                                                  |
 * |----------|--------------------------------------------------------------------------|
 * | stopped  | starting by `apply`                                                      |
 * | starting | up; or waits, longer each time, and starts again                         |
 * | up       | starting when the process ends, or when `apply` brings another spec      |
 * | any      | stopped by `stop` or `pause`; the process has ended when these resolve   |
 */
import { lstat, readdir } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ReservedPorts,
  reservePort,
  type RunningProcess,
  startProcess,
  unprivileged,
} from "@klutch/engines";
import type { Logger } from "@klutch/telemetry";
import { endLeftover, remember } from "./leftover.ts";
import type { Place, ServerKind, ServerSpec, Session } from "./server-kind.ts";

const firstWaitMs = 200;
const longestWaitMs = 10_000;
/** After a crash a server first reads the log of its data. */
const patienceMs = 60_000;
/** The end of a process is noticed a moment later than the end of its connections. */
const noticeMs = 100;
const mib = 1024 * 1024;
/** A full disk has room again below this part of its limit. */
const roomyPart = 0.9;

/** Options of `OwnServer`. */
export interface OwnServerOptions {
  readonly kind: ServerKind;
  /** For messages. */
  readonly instance: string;
  readonly logger: Logger;
  /** How often the disk is measured. Default 5000. */
  readonly diskEveryMs?: number | undefined;
}

interface Up {
  readonly process: RunningProcess;
  readonly session: Session;
}

interface Life {
  readonly place: Place;
  readonly spec: ServerSpec;
  readonly stop: AbortController;
  ended: Promise<void>;
  /** Pending while the server is not up. */
  up: PromiseWithResolvers<Up>;
  problem: unknown;
}

/** A server that is started again when it ends unasked, never runs twice, and ends with its broker. */
export class OwnServer {
  readonly #options: OwnServerOptions;
  #life: Life | undefined;
  #port: ReservedPorts | undefined;
  /** One piece of work at a time: a server keeps one session free for its broker. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: OwnServerOptions) {
    this.#options = options;
  }

  /** Starts the server, or starts it again when place or spec differ. Does not wait until it is up. */
  async apply(place: Place, spec: ServerSpec): Promise<void> {
    const present = this.#life;
    if (present !== undefined && isDeepStrictEqual([present.place, present.spec], [place, spec])) return;
    await this.pause();
    const stop = new AbortController();
    const problem = "it is still starting";
    const life: Life = { place, spec, stop, up: waitable(), problem, ended: Promise.resolve() };
    life.ended = this.#live(life);
    this.#life = life;
  }

  /** Runs work once the server is up, again when the server ends meanwhile. Throws when it is not up after a minute. */
  use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const done = this.#queue.then(async () => {
      const { process: server, session } = await this.#whenUp();
      try {
        return await work(session);
      } catch (error) {
        await Promise.race([server.exited, sleep(noticeMs)]);
        if (!server.hasExited) throw error;
        return work((await this.#whenUp()).session);
      }
    });
    this.#queue = done.catch(() => undefined);
    return done;
  }

  /** Takes over a port that is reserved already. */
  async hold(port: ReservedPorts): Promise<void> {
    await this.#port?.[Symbol.asyncDispose]();
    this.#port = port;
  }

  /** Ends the server and keeps its port, for the next `apply`. */
  async pause(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    life?.stop.abort();
    await life?.ended;
  }

  /** Ends the server and gives its port back. */
  async stop(): Promise<void> {
    await this.pause();
    await this.#port?.[Symbol.asyncDispose]();
    this.#port = undefined;
  }

  async #whenUp(): Promise<Up> {
    const life = this.#life;
    const { kind, instance } = this.#options;
    if (life === undefined) throw new Error(`the ${kind.program} of instance ${instance} is stopped`);
    const deadline = AbortSignal.timeout(patienceMs);
    for (;;) {
      const up = await Promise.race([life.up.promise, aborted(deadline)]);
      // The end of the server's log follows the first line; that is for the broker's log only.
      const [reason] = String(life.problem).split("\n");
      if (up === undefined)
        throw new Error(`the ${kind.program} of instance ${instance} does not run: ${reason}`);
      if (!up.process.hasExited) return up;
      await sleep(noticeMs);
    }
  }

  async #live(life: Life): Promise<void> {
    const { kind, instance, logger } = this.#options;
    const { signal } = life.stop;
    const about = { instance, program: kind.program };
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const code = await this.#runOnce(life, () => (failures = 0));
        if (!signal.aborted) logger.warn("a data server ended and is started again", { ...about, code });
      } catch (error) {
        if (signal.aborted) break;
        life.problem = error;
        logger.error("a data server does not run", { ...about, error });
      }
      const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures, 10));
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
    life.up.reject(new Error(`the ${kind.program} of instance ${instance} was stopped`));
  }

  /** Returns the exit code of a server that ended by itself or was stopped. */
  async #runOnce(life: Life, onUp: () => void): Promise<number> {
    const { kind, instance, logger } = this.#options;
    const { place, spec, stop } = life;
    await using stack = new AsyncDisposableStack();
    if ((await endLeftover(place.home)) === "killed")
      logger.warn("a data server of an earlier broker was killed", { instance });
    await this.#reservePort(place);
    const server = stack.use(await startServer(kind, place, spec, stop.signal));
    const session = stack.use(await kind.open(place, spec));
    const up = life.up;
    stack.defer(() => {
      if (life.up === up) life.up = waitable();
    });
    const over = new AbortController();
    stack.defer(() => over.abort());
    onUp();
    up.resolve({ process: server, session });
    void this.#watchDisk(life, over.signal);
    await Promise.race([server.exited, aborted(stop.signal)]);
    if (stop.signal.aborted) await server.stop();
    return server.exited;
  }

  /** Keeps the same port for the whole life of the instance, so that credentials stay true. */
  async #reservePort({ port, reach }: Place): Promise<void> {
    if (port === undefined || this.#port !== undefined) return;
    this.#port = await reservePort(port, { address: reach.listen });
    if (this.#port === undefined)
      throw new Error(`port ${port}, which its bindings use, is taken by another program; end that program`);
  }

  async #watchDisk({ place, spec }: Life, signal: AbortSignal): Promise<void> {
    const { instance, logger, diskEveryMs = 5_000 } = this.#options;
    for (let wasFull = false; !signal.aborted; ) {
      const isFull: boolean = (await sizeOf(place.home)) > spec.diskMiB * mib * (wasFull ? roomyPart : 1);
      try {
        if (isFull !== wasFull)
          logger.warn(`the disk of a data server ${isFull ? "is full" : "has room again"}`, { instance });
        if (isFull || wasFull) await this.use((session) => session.setFull(isFull));
        wasFull = isFull;
      } catch (error) {
        // The next measurement tells the server again.
        logger.warn("a data server was not told about its disk", { instance, error });
      }
      await sleep(diskEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Starts the server, and writes down which process it is. */
export async function startServer(
  kind: ServerKind,
  place: Place,
  spec: ServerSpec,
  signal: AbortSignal,
): Promise<RunningProcess> {
  const launch = await kind.launch(place, spec);
  return startProcess({
    name: kind.program,
    ...launch,
    cwd: place.data,
    logFile: join(place.home, "server.log"),
    onStarted: (pid) => remember(place.home, pid),
    stopTimeoutMs: 20_000,
    signal,
    ...unprivileged,
  });
}

/** Returns the bytes that the folder takes on the disk. Files that vanish meanwhile do not count. */
export async function sizeOf(folder: string): Promise<number> {
  let size = 0;
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) size += await sizeOf(path);
    else size += ((await lstat(path).catch(() => undefined))?.blocks ?? 0) * 512;
  }
  return size;
}

/** Makes a promise whose rejection need not be handled. */
function waitable(): PromiseWithResolvers<Up> {
  const resolvers = Promise.withResolvers<Up>();
  resolvers.promise.catch(() => undefined);
  return resolvers;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  if (signal.aborted) resolve(undefined);
  else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  return promise;
}
