/** An agent as a process of its own, that is started again when it ends by itself, as a kubelet does. */
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { logTail, type ReservedPorts, type RunningProcess } from "@klutch/engines";
import type { ConnectionOrigin } from "@klutch/kube-testing";
import { startKonnector } from "../../security/bound-fixture.ts";

/** One start of one agent. Its identity is the holder that it writes into the lease. */
export interface AgentRun extends ConnectionOrigin {
  readonly pid: number;
}

/** All starts of all agents; each has an address of its own. */
export class AgentRuns {
  readonly #runs: AgentRun[] = [];

  get all(): readonly AgentRun[] {
    return this.#runs;
  }

  add(identity: string, pid: number): void {
    const number = this.#runs.length;
    const address = `127.0.${1 + Math.floor(number / 250)}.${1 + (number % 250)}`;
    this.#runs.push({ identity, pid, address });
  }

  /** Answers `TcpProxy`. Before the first start, connections belong to no agent and pass. */
  async originOf(clientPort: number, proxyPort: number): Promise<ConnectionOrigin | undefined> {
    if (this.#runs.length === 0) return { identity: "", address: "127.0.0.1" };
    const socket = await socketBetween(clientPort, proxyPort);
    if (socket === undefined) return undefined;
    // The newest first: process ids come back.
    for (const run of this.#runs.slice(-4).toReversed()) if (await holds(run.pid, socket)) return run;
    return undefined;
  }
}

/** The client's end of a connection of 127.0.0.1, as Linux's /proc calls it. */
async function socketBetween(clientPort: number, serverPort: number): Promise<string | undefined> {
  const [local, remote] = [clientPort, serverPort].map(
    (port) => `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`,
  );
  const lines = (await readFile("/proc/net/tcp", "utf8")).split("\n");
  const found = lines
    .map((line) => line.trim().split(/\s+/))
    .find((fields) => fields[1] === local && fields[2] === remote);
  return found === undefined ? undefined : `socket:[${found[9]}]`;
}

async function holds(pid: number, socket: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  for (const name of await readdir(folder).catch(() => []))
    if ((await readlink(`${folder}/${name}`).catch(() => "")) === socket) return true;
  return false;
}

const restartAfterMs = 400;

/** Keeps the port and the name of one agent over its restarts. */
export class AgentSlot implements AsyncDisposable {
  /** Is the lease's holder while this agent leads. */
  readonly identity: string;
  /** Counts the times that it ended without being asked. */
  ends = 0;
  readonly #kubeconfig: string;
  readonly #logFile: string;
  readonly #runs: AgentRuns;
  readonly #ports: ReservedPorts;
  #running: RunningProcess | undefined;

  /** `folder` has its kubeconfig and gets its log; the port is given back with the agent. */
  constructor(identity: string, folder: string, runs: AgentRuns, ports: ReservedPorts) {
    this.identity = identity;
    this.#kubeconfig = join(folder, "consumer.kubeconfig");
    this.#logFile = join(folder, `${identity}.log`);
    this.#runs = runs;
    this.#ports = ports;
  }

  /** Returns its own report of its health, and the last lines of its log, without stacks. */
  async lastWords(lines: number): Promise<string> {
    const health = await fetch(`http://127.0.0.1:${this.#port}/readyz?verbose`).then(
      (answer) => answer.text(),
      (error: unknown) => `no answer: ${String(error)}`,
    );
    const log = logTail(this.#logFile, lines).replaceAll(/,"stack":"(\\.|[^"\\])*"/g, "");
    return `${this.identity}: ${health}\n${log}`;
  }

  /** Returns as soon as the process exists. Does nothing when it runs. */
  async start(): Promise<void> {
    if (this.#running !== undefined) return;
    const running = await startKonnector({
      name: this.identity,
      kubeconfig: this.#kubeconfig,
      logFile: this.#logFile,
      port: this.#port,
      // The plan deletes most of its few claims, on purpose and within a minute.
      flags: ["--log-level=debug", "--mass-deletion-limit=0"],
    });
    this.#runs.add(this.identity, running.pid);
    this.#running = running;
    void this.#watchOver(running);
  }

  get #port(): number {
    return this.#ports.ports[0] ?? 0;
  }

  async #watchOver(running: RunningProcess): Promise<void> {
    await running.exited;
    if (this.#running !== running) return;
    this.ends++;
    await sleep(restartAfterMs);
    if (this.#running !== running) return;
    this.#running = undefined;
    await this.start();
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    await this.#taken()?.kill();
  }

  /** Lets it end in order. */
  async stop(): Promise<void> {
    await this.#taken()?.stop();
  }

  /** Gives the running process away; the caller ends it. */
  #taken(): RunningProcess | undefined {
    const running = this.#running;
    this.#running = undefined;
    return running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#ports[Symbol.asyncDispose]();
  }
}
