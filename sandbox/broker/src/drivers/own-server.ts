/**
 * Keeps one server running, and owns its process: nothing else starts or stops it.
 *
 * | state    | goes to                                                                |
 * |----------|------------------------------------------------------------------------|
 * | stopped  | starting by `apply`                                                    |
 * | starting | up; or waits, longer each time, and starts again                       |
 * | up       | starting when the process ends, or when `apply` brings another spec    |
 * | any      | stopped by `stop` or `pause`; the process has ended when these resolve |
 */
import { lstat, readdir } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as engines from "@klutch/engines";
import type { Logger } from "@klutch/telemetry";
import { type Place, type ServerKind, type ServerSpec, type Session, Unstartable } from "./driver.ts";

const firstWaitMs = 200;
const longestWaitMs = 10_000;
/** Milliseconds to wait for a server to run: after a crash it first reads the log of its data. */
const patienceMs = 60_000;
/** The end of a process is noticed a moment later than the end of its connections. */
const noticeMs = 50;
const mib = 1024 * 1024;
/** A full disk has room again below this part of its limit. */
const roomyPart = 0.9;

/** Another program listens on the server's port. */
export class PortTaken extends Error {}

/** Options of `OwnServer`. */
export interface OwnServerOptions {
  readonly kind: ServerKind;
  /** Name of the instance in messages. */
  readonly instance: string;
  readonly logger: Logger;
  /** Milliseconds between two measurements of the disk. Default 5000. */
  readonly diskEveryMs?: number | undefined;
}

interface Up {
  readonly process: engines.RunningProcess;
  readonly session: Session;
}

interface Life {
  readonly place: Place;
  readonly spec: ServerSpec;
  readonly stop: AbortController;
  ended: Promise<void>;
}

/** A server that is started again when it ends unasked, never runs twice, and ends with its broker. */
export class OwnServer {
  readonly #options: OwnServerOptions;
  #life: Life | undefined;
  #up: Up | undefined;
  #problem: unknown = "it is still starting";
  #port: engines.ReservedPorts | undefined;
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
    const life: Life = { place, spec, stop: new AbortController(), ended: Promise.resolve() };
    life.ended = this.#live(life);
    this.#problem = "it is still starting";
    this.#life = life;
  }

  /** Runs work once the server is up, again when the server ends meanwhile. Throws when it is not up after a minute. */
  use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const done = this.#queue.then(async () => {
      const { process: server, session } = await this.#running();
      try {
        return await work(session);
      } catch (error) {
        await Promise.race([server.exited, sleep(2 * noticeMs)]);
        if (!server.hasExited) throw error;
        return work(await this.whenUp());
      }
    });
    this.#queue = done.catch(() => undefined);
    return done;
  }

  /** Waits until the server is up. Throws when it is not after a minute. */
  async whenUp(): Promise<Session> {
    return (await this.#running()).session;
  }

  /** Returns whether the server runs and its session can be used now. */
  get isUp(): boolean {
    return this.#up?.process.hasExited === false;
  }

  /** Waits like `whenUp`, but returns false at once when another program has the port. For servers whose port no binding names yet. */
  async isUpAtItsPort(): Promise<boolean> {
    return this.#running({ portMayChange: true }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof PortTaken) return false;
        throw error;
      },
    );
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

  async #running({ portMayChange = false } = {}): Promise<Up> {
    const { kind, instance } = this.#options;
    for (const deadline = AbortSignal.timeout(kind.patienceMs ?? patienceMs); ; await sleep(noticeMs)) {
      if (this.#up?.process.hasExited === false) return this.#up;
      if (this.#life === undefined) throw new Error(`the ${kind.program} of instance ${instance} is stopped`);
      if (portMayChange && this.#problem instanceof PortTaken) throw this.#problem;
      // The end of the server's log follows the first line; that is for the broker's log only.
      const [reason] = String(this.#problem).split("\n");
      if (deadline.aborted || this.#problem instanceof Unstartable)
        throw new Error(`the ${kind.program} of instance ${instance} does not run: ${reason}`);
    }
  }

  async #live({ place, spec, stop: { signal } }: Life): Promise<void> {
    const { kind, instance, logger } = this.#options;
    const about = { instance, program: kind.program };
    for (let waitMs = firstWaitMs; !signal.aborted; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
      try {
        await this.#reservePort(place);
        await using server = await startServer(kind, place, spec, signal);
        await using session = await kind.open(place, spec);
        this.#up = { process: server, session };
        waitMs = firstWaitMs;
        const ended = new AbortController();
        void server.exited.then(() => ended.abort());
        await this.#watch(place, spec, AbortSignal.any([signal, ended.signal]));
        if (!signal.aborted)
          logger.warn("a data server ended and is started again", { ...about, code: await server.exited });
      } catch (error) {
        if (signal.aborted) break;
        this.#problem = error;
        logger.error("a data server does not run", { ...about, error });
      } finally {
        this.#up = undefined;
      }
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Keeps the same port for the whole life of the instance, so that credentials stay true. Its own server does not run at this moment. */
  async #reservePort({ port, reach }: Place): Promise<void> {
    if (port === undefined) return;
    const isHeld = this.#port !== undefined;
    this.#port ??= await engines.reservePort(port, { address: reach.listen });
    if (this.#port === undefined || (isHeld && !(await engines.isPortFree(port, reach.listen))))
      throw new PortTaken(
        `port ${port}, which its bindings use, is taken by another program; end that program`,
      );
  }

  /** Measures the disk until the signal aborts; backups and restores beside the data do not count. */
  async #watch({ data }: Place, { diskMiB }: ServerSpec, signal: AbortSignal): Promise<void> {
    const { instance, logger, diskEveryMs = 5_000 } = this.#options;
    for (let wasFull = false; !signal.aborted; ) {
      const isFull: boolean = (await sizeOf(data)) > diskMiB * mib * (wasFull ? roomyPart : 1);
      if (isFull !== wasFull)
        logger.warn(`the disk of a data server ${isFull ? "is full" : "has room again"}`, { instance });
      // If this fails, the next measurement tells the server again.
      if (isFull || wasFull)
        void this.use((session) => session.setFull(isFull)).then(
          () => (wasFull = isFull),
          (error: unknown) => logger.warn("a data server was not told about its disk", { instance, error }),
        );
      await sleep(diskEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Starts the server. One that a killed broker left keeps its port, or the lock of its data, until it has ended a moment later. */
export async function startServer(
  kind: ServerKind,
  place: Place,
  spec: ServerSpec,
  signal: AbortSignal,
): Promise<engines.RunningProcess> {
  return engines.startProcess({
    name: kind.program,
    ...(await kind.launch(place, spec)),
    cwd: place.data,
    logFile: join(place.home, "server.log"),
    readyTimeoutMs: kind.patienceMs ?? patienceMs,
    stopTimeoutMs: 20_000,
    signal,
    ...engines.unprivileged,
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
