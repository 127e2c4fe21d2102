/** Work on instances: one piece at a time on each, in the order in which it came, and few at a time in all. */
import type { Logger } from "@klutch/telemetry";

/** Never throws: what goes wrong is its own to write down. `signal` aborts when the instance or the process goes. */
export type Work = (signal: AbortSignal) => Promise<void>;

/** What is to be done on one instance. */
interface Queue {
  readonly stop: AbortController;
  last: Promise<void>;
  open: number;
}

/** A queue for each instance. Whoever starts a piece names it, so that it is never there twice. */
export class Jobs implements AsyncDisposable {
  readonly #most: number;
  readonly #logger: Logger;
  readonly #queues = new Map<string, Queue>();
  readonly #names = new Set<string>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #closed = false;

  /** `most`: how many run at a time. */
  constructor(most: number, logger: Logger) {
    this.#most = most;
    this.#logger = logger;
  }

  /** Does nothing when a piece of that name is there, or after the end. */
  add(instanceId: string, name: string, work: Work): void {
    if (this.#closed || this.#names.has(name)) return;
    this.#names.add(name);
    const queue = this.#queues.get(instanceId) ?? {
      stop: new AbortController(),
      last: Promise.resolve(),
      open: 0,
    };
    this.#queues.set(instanceId, queue);
    queue.open++;
    queue.last = queue.last.then(() => this.#run(instanceId, queue, name, work));
  }

  /** Ends what runs and what waits on the instance, and waits until it has ended. */
  async stop(instanceId: string): Promise<void> {
    const queue = this.#queues.get(instanceId);
    queue?.stop.abort(new Error("the instance is being deleted"));
    await queue?.last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const queues = [...this.#queues.values()];
    for (const queue of queues) queue.stop.abort(new Error("the backup manager ends"));
    await Promise.all(queues.map(({ last }) => last));
  }

  async #run(instanceId: string, queue: Queue, name: string, work: Work): Promise<void> {
    await this.#turn();
    try {
      await work(queue.stop.signal);
    } catch (error) {
      this.#logger.error("work of the backup manager failed", { instance: instanceId, name, error });
    } finally {
      this.#names.delete(name);
      this.#running--;
      this.#waiting.shift()?.();
      if (--queue.open === 0 && this.#queues.get(instanceId) === queue) this.#queues.delete(instanceId);
    }
  }

  async #turn(): Promise<void> {
    if (this.#running >= this.#most) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    }
    this.#running++;
  }
}
