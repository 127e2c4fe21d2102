/** An agent as a process of its own, that is started again when it ends by itself, as a kubelet does. */
import { setTimeout as sleep } from "node:timers/promises";
import { consumerNamespace } from "@klutch/api";
import {
  logTail,
  type ReservedPorts,
  reservePorts,
  type RunningProcess,
  startProcess,
  ownProgram,
} from "@klutch/engines";
import type { ConnectionOrigin } from "@klutch/kube-testing";
import { connectedProcess } from "./process-ports.ts";

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

  /** For `TcpProxy`. */
  async originOf(clientPort: number, proxyPort: number): Promise<ConnectionOrigin | undefined> {
    // The newest first: process ids come back.
    const newest = this.#runs.slice(-4).toReversed();
    const pids = newest.map(({ pid }) => pid);
    const pid = await connectedProcess(pids, clientPort, proxyPort);
    return newest.find((run) => run.pid === pid);
  }
}

const restartAfterMs = 400;

/** Options of an agent. */
export interface AgentOptions {
  readonly identity: string;
  readonly kubeconfig: string;
  readonly logFile: string;
  readonly runs: AgentRuns;
}

/** Keeps the port and the name of one agent over its restarts. `ends` counts those that nobody asked for. */
export class AgentSlot implements AsyncDisposable {
  readonly #options: AgentOptions;
  readonly #ports: ReservedPorts;
  #running: RunningProcess | undefined;
  #ends = 0;

  private constructor(options: AgentOptions, ports: ReservedPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  static async prepare(options: AgentOptions): Promise<AgentSlot> {
    return new AgentSlot(options, await reservePorts(1));
  }

  get identity(): string {
    return this.#options.identity;
  }

  /** How often it ended without being asked. */
  get ends(): number {
    return this.#ends;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** The last lines of its log, without stacks. */
  log(lines: number): string {
    return logTail(this.#options.logFile, lines).replaceAll(/,"stack":"(\\.|[^"\\])*"/g, "");
  }

  /** What it says of itself. */
  async health(): Promise<string> {
    const url = `http://127.0.0.1:${this.#ports.ports[0]}/readyz?verbose`;
    return fetch(url).then(
      (answer) => answer.text(),
      (error: unknown) => `no answer: ${String(error)}`,
    );
  }

  /** Returns as soon as the process exists. Does nothing when it runs. */
  async start(): Promise<void> {
    if (this.#running !== undefined) return;
    const { identity, kubeconfig, logFile, runs } = this.#options;
    const running = await startProcess({
      name: identity,
      command: process.execPath,
      args: [
        ownProgram("konnector"),
        `--lease-namespace=${consumerNamespace}`,
        "--probe-host=127.0.0.1",
        `--probe-port=${this.#ports.ports[0]}`,
        "--log-level=debug",
      ],
      // The name stays over restarts, as that of a pod whose container is started again.
      env: { KUBECONFIG: kubeconfig, POD_NAME: identity, POD_NAMESPACE: consumerNamespace },
      logFile,
    });
    runs.add(identity, running.pid);
    this.#running = running;
    void this.#watchOver(running);
  }

  async #watchOver(running: RunningProcess): Promise<void> {
    await running.exited;
    if (this.#running !== running) return;
    this.#ends++;
    await sleep(restartAfterMs);
    if (this.#running !== running) return;
    this.#running = undefined;
    await this.start();
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.kill();
  }

  /** Lets it end in order. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#ports[Symbol.asyncDispose]();
  }
}
