/**
 * `ClusterPool` keeps running clusters and lends each to one test file at a time, because most files need an API server for themselves and
 * none cares which. A file that reports that it is done gives its cluster back, which is then returned to the state in which it came up. A file
 * that ends without a word may have left processes behind that still write, so its cluster is killed.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { logTail } from "@klutch/engines";
import { type OwnCluster, startCluster } from "../cluster.ts";
import { policiesForgotten, type PolicyWrites, policyWrites } from "./policies-forgotten.ts";
import { restoreSnapshot, type Snapshot, takeSnapshot } from "./snapshot.ts";

/** The line that a borrower gets; it then holds the connection as long as it uses the cluster. */
export interface Lease {
  readonly dataDir: string;
  readonly server: string;
  readonly adminToken: string;
}

/** The line that a borrower sends when nothing of its own uses the cluster any more. */
export const returned = "returned\n";

interface Idle {
  readonly cluster: OwnCluster;
  readonly snapshot: Snapshot;
  readonly groups: string;
  readonly writes: PolicyWrites;
}

/** Time for which etcd's keys must stay the same before a new cluster counts as settled. */
const settledMs = 700;
const pollMs = 150;
const mostWaitMs = 20_000;
/** An idle cluster stands still and takes only memory, half a GiB. */
const mostIdleMs = 300_000;

export class ClusterPool implements AsyncDisposable {
  readonly #server: Server;
  readonly #folder: string;
  readonly #idle: Idle[] = [];
  /** Every cluster that runs, idle or lent. */
  readonly #running = new Set<OwnCluster>();
  readonly #work = new Set<Promise<void>>();
  #isClosed = false;
  #started = 0;
  #lent = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#server = createServer((socket) => this.#track(this.#lend(socket)));
  }

  /** Opens the pool; the first borrowers start its clusters. */
  static async open(): Promise<ClusterPool> {
    const pool = new ClusterPool(await mkdtemp(join(tmpdir(), "klutch-pool-")));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    pool.#server.once("error", reject).listen(pool.socket, resolve);
    await promise;
    return pool;
  }

  /** Path of the socket that borrowers connect to. */
  get socket(): string {
    return join(this.#folder, "pool.sock");
  }

  /** Counts the clusters that were started so far and that are idle now, and how often one was lent. */
  get counts(): { readonly started: number; readonly idle: number; readonly lent: number } {
    return { started: this.#started, idle: this.#idle.length, lent: this.#lent };
  }

  /** Waits for leases that end just now, then kills every cluster. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#server.close();
    await Promise.all([...this.#running].map((cluster) => cluster[Symbol.asyncDispose]()));
    await Promise.all(this.#work);
    await rm(this.#folder, { recursive: true, force: true });
  }

  #track(work: Promise<void>): void {
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }

  async #lend(socket: Socket): Promise<void> {
    let said = "";
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    socket.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.endsWith(returned)) end();
    });
    socket.on("error", () => undefined).on("close", () => end());
    let lent: Idle | undefined;
    try {
      lent = this.#idle.pop() ?? (await this.#start());
      signalAll(lent.cluster, "SIGCONT");
      const dead = lent.cluster.processes.find(({ hasExited }) => hasExited);
      if (dead !== undefined)
        throw new Error(`${dead.name} ended while it was idle:\n${logTail(dead.logFile)}`);
      const { config, dataDir } = lent.cluster;
      const adminToken = config.auth.kind === "token" ? config.auth.token.reveal() : "";
      const lease: Lease = { dataDir, server: config.server, adminToken };
      socket.write(`${JSON.stringify(lease)}\n`);
      this.#lent++;
      await ended;
      socket.destroy();
      const idle = said.endsWith(returned) && !this.#isClosed ? await this.#reset(lent) : undefined;
      if (idle === undefined) await this.#drop(lent.cluster);
      else this.#keep(idle);
    } catch (error) {
      socket.end(`${JSON.stringify({ error: String(error) })}\n`);
      if (lent !== undefined) await this.#drop(lent.cluster);
    }
  }

  async #start(): Promise<Idle> {
    const cluster = await startCluster({ name: `pool-${++this.#started}` });
    this.#running.add(cluster);
    try {
      const snapshot = await settled(cluster);
      return {
        cluster,
        snapshot,
        groups: await groupsOf(cluster),
        writes: await policyWrites(cluster),
      };
    } catch (error) {
      await this.#drop(cluster);
      throw error;
    }
  }

  #keep(idle: Idle): void {
    // A server that nobody asks computes a fiftieth of the time all the same.
    signalAll(idle.cluster, "SIGSTOP");
    this.#idle.push(idle);
    const drop = (): void => {
      const place = this.#idle.indexOf(idle);
      if (place === -1) return;
      this.#idle.splice(place, 1);
      this.#track(this.#drop(idle.cluster));
    };
    setTimeout(drop, mostIdleMs).unref();
  }

  async #drop(cluster: OwnCluster): Promise<void> {
    this.#running.delete(cluster);
    await cluster[Symbol.asyncDispose]();
  }

  /** Brings the cluster to the state in which it came up. Returns undefined when it cannot: the cluster must not be lent again. */
  async #reset({ cluster, snapshot, groups, writes }: Idle): Promise<Idle | undefined> {
    const untilMs = performance.now() + mostWaitMs;
    let known = writes;
    try {
      do {
        const changed = await restoreSnapshot(cluster.askEtcd, snapshot);
        if (changed.length === 0 && (await groupsOf(cluster)) === groups) {
          const found = await policiesForgotten(cluster, known);
          // After a marker etcd is compared once more.
          if (found === known) return { cluster, snapshot, groups, writes: known };
          known = found;
        }
        await sleep(pollMs);
      } while (performance.now() < untilMs);
    } catch {
      // A cluster that does not answer is of no use to the next borrower; its last borrower has to report the cause.
    }
    return undefined;
  }
}

/** Sends the signal to both servers, and not to the shells that watch them. */
function signalAll({ processes }: OwnCluster, signal: "SIGSTOP" | "SIGCONT"): void {
  for (const { pid, hasExited } of processes) if (!hasExited) process.kill(pid, signal);
}

/** The groups that the API server serves, in one text. */
async function groupsOf({ client }: OwnCluster): Promise<string> {
  return JSON.stringify(await client.request({ method: "GET", path: "/apis" }));
}

/** Waits until the API server has written all that it writes by itself. */
async function settled({ askEtcd }: OwnCluster): Promise<Snapshot> {
  let snapshot = await takeSnapshot(askEtcd);
  for (let sinceMs = performance.now(); performance.now() - sinceMs < settledMs; ) {
    await sleep(pollMs);
    const next = await takeSnapshot(askEtcd);
    if ([...next.keys()].join() !== [...snapshot.keys()].join()) sinceMs = performance.now();
    snapshot = next;
  }
  return snapshot;
}
