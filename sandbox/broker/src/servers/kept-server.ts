/**
 * One server that is kept running: started, started again when it ends unasked, never twice, and ended with its broker.
 *
 * | state      | goes to                                                        |
 * |------------|----------------------------------------------------------------|
 * | stopped    | starting by `apply`                                            |
 * | starting   | up; or waits, longer each time, and starts again               |
 * | up         | starting when the process ends; or when `apply` brings another spec |
 * | any        | stopped by `stop`; the process has ended when that resolves    |
 */
import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  identify,
  type ReservedPorts,
  reservePort,
  type RunningProcess,
  startProcess,
  unprivileged,
} from "@klutch/engines";
import type { Logger } from "@klutch/telemetry";
import { watchDisk } from "./disk.ts";
import { type Place, type ServerKind, type ServerSpec, type Session, StuckError } from "./kind.ts";
import { limited } from "./limits.ts";
import { endLeftover, forget, remember } from "./process-identity.ts";

const firstWaitMs = 200;
const longestWaitMs = 10_000;
/** For one who waits for the server; a start after a crash reads the log of its data first. */
const patienceMs = 60_000;
/** The end of a process is known a moment later than the end of its connections. */
const noticeMs = 100;

/** Options of `KeptServer`. */
export interface KeptServerOptions<S extends Session> {
  readonly kind: ServerKind<S>;
  /** For messages. */
  readonly instance: string;
  readonly logger: Logger;
  /** How often the disk is measured. Default 5000. */
  readonly diskEveryMs?: number | undefined;
}

interface Life<S> {
  readonly place: Place;
  readonly spec: ServerSpec;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  /** Pending while the server is not up. */
  session: PromiseWithResolvers<S>;
  /** While the server is up. */
  process: RunningProcess | undefined;
  problem: unknown;
}

/** Nobody but it starts or ends the process. */
export class KeptServer<S extends Session> implements AsyncDisposable {
  readonly #options: KeptServerOptions<S>;
  #life: Life<S> | undefined;
  #port: ReservedPorts | undefined;
  /** One piece of work at a time: a server keeps one session free for its broker. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: KeptServerOptions<S>) {
    this.#options = options;
  }

  /** Starts the server, or starts it again when it is to be another. Does not wait until it is up. */
  async apply(place: Place, spec: ServerSpec): Promise<void> {
    const present = this.#life;
    if (present !== undefined && isDeepStrictEqual([present.place, present.spec], [place, spec])) return;
    await this.#end();
    const stop = new AbortController();
    const life: Life<S> = {
      place,
      spec,
      stop,
      session: waitable<S>(),
      process: undefined,
      problem: "it is still starting",
      ended: Promise.resolve().then(() => this.#live(life)),
    };
    this.#life = life;
  }

  /** Runs work in the server once it is up, one after the other. Throws when it is not up after a minute. */
  use<T>(work: (session: S) => Promise<T>): Promise<T> {
    const done = this.#queue.then(async () => {
      const session = await this.#whenUp();
      try {
        return await work(session);
      } catch (error) {
        if (!(await this.#isLost(error))) throw error;
        return work(await this.#whenUp());
      }
    });
    this.#queue = done.catch(() => undefined);
    return done;
  }

  /** A port that is reserved already, which is ours from here on. */
  async hold(port: ReservedPorts): Promise<void> {
    await this.#port?.[Symbol.asyncDispose]();
    this.#port = port;
  }

  /** Ends the server and keeps its port, for the next `apply`. */
  async pause(): Promise<void> {
    await this.#end();
  }

  async stop(): Promise<void> {
    await this.#end();
    await this.#port?.[Symbol.asyncDispose]();
    this.#port = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Whether work failed because its server has ended, or must end. Then it can be done again once the next one is up. */
  async #isLost(error: unknown): Promise<boolean> {
    const life = this.#life;
    const server = life?.process;
    if (life === undefined || server === undefined) return life !== undefined;
    if (error instanceof StuckError) {
      const { instance, logger } = this.#options;
      logger.warn("a data server is stuck and is ended", { instance, error });
      void server.kill();
    } else {
      await Promise.race([server.exited, sleep(noticeMs)]);
      if (!server.hasExited) return false;
    }
    isDown(life);
    return true;
  }

  async #end(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    life?.stop.abort();
    await life?.ended;
  }

  async #whenUp(): Promise<S> {
    const life = this.#life;
    const { kind, instance } = this.#options;
    if (life === undefined) throw new Error(`the ${kind.program} of instance ${instance} is stopped`);
    const abort = new AbortController();
    const late = sleep(patienceMs, undefined, { signal: abort.signal }).then(() => {
      // The end of the server's log follows it, which is for the broker's log only.
      const [reason] = String(life.problem).split("\n");
      throw new Error(`the ${kind.program} of instance ${instance} does not run: ${reason}`);
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([life.session.promise, late]);
    } finally {
      abort.abort();
    }
  }

  async #live(life: Life<S>): Promise<void> {
    const { kind, instance, logger } = this.#options;
    const { signal } = life.stop;
    const say = { instance, program: kind.program };
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const code = await this.#runOnce(life, () => (failures = 0));
        if (!signal.aborted) logger.warn("a data server ended and is started again", { ...say, code });
      } catch (error) {
        if (signal.aborted) break;
        life.problem = error;
        logger.error("a data server does not run", { ...say, error });
      }
      isDown(life);
      const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures, 10));
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
    life.session.reject(new Error(`the ${kind.program} of instance ${instance} was stopped`));
  }

  /** Gives back the exit code of a server that ended by itself, or after it was asked to. */
  async #runOnce(life: Life<S>, onUp: () => void): Promise<number> {
    const { kind, instance, logger, diskEveryMs } = this.#options;
    const { place, spec } = life;
    const { signal } = life.stop;
    await using stack = new AsyncDisposableStack();
    const left = await endLeftover(place.home);
    if (left === "killed") logger.warn("a data server of an earlier broker was ended", { instance });
    await this.#reserve(place);
    const server = stack.use(await startServer(kind, place, spec, signal));
    stack.defer(() => forget(place.home));
    const session = stack.use(await kind.open(place, spec));
    const disk = new AbortController();
    stack.defer(() => disk.abort());
    void watchDisk(
      { folder: place.home, diskMiB: spec.diskMiB, everyMs: diskEveryMs, signal: disk.signal },
      {
        setFull: async (isFull) => {
          const state = isFull ? "is full" : "has room again";
          logger.warn(`the disk of a data server ${state}`, { instance });
          await this.use((current) => current.setFull(isFull));
        },
        makeRoom: () => this.use((current) => current.makeRoom()),
      },
    );
    onUp();
    life.process = server;
    life.session.resolve(session);
    await Promise.race([server.exited, aborted(signal)]);
    if (signal.aborted) await server.stop();
    return server.exited;
  }

  /** The same port for the whole life, so that credentials stay true. */
  async #reserve(place: Place): Promise<void> {
    if (place.port === undefined || this.#port !== undefined) return;
    this.#port = await reservePort(place.port, { address: place.reach.listen });
    if (this.#port === undefined)
      throw new Error(`port ${place.port}, which its bindings know, is taken by another program`);
  }
}

/** Starts it with its limits, and writes down which process it is. */
export async function startServer(
  kind: ServerKind,
  place: Place,
  spec: ServerSpec,
  signal: AbortSignal,
): Promise<RunningProcess> {
  const launch = await kind.launch(place, spec);
  const server = await startProcess({
    name: kind.program,
    ...limited(launch, spec),
    env: launch.env,
    cwd: place.data,
    logFile: join(place.home, "server.log"),
    ready: launch.ready,
    onStarted: async (pid) => {
      const identity = await identify(pid);
      if (identity !== undefined) await remember(place.home, identity);
    },
    stopTimeoutMs: 20_000,
    signal,
    ...unprivileged,
  });
  return server;
}

/** Who waits already goes on waiting. */
function isDown<S>(life: Life<S>): void {
  if (life.process === undefined) return;
  life.process = undefined;
  life.session = waitable();
}

/** Rejections that nobody waits for are no failures of the process. */
function waitable<T>(): PromiseWithResolvers<T> {
  const resolvers = Promise.withResolvers<T>();
  resolvers.promise.catch(() => undefined);
  return resolvers;
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}
