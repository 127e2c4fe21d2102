/** The agent under test as its own process. Nothing here knows what it is, only how it is started and where it may be asked. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { konnectorRuntime } from "@klutch/api";
import { logTail, type ReservedPorts, type RunningProcess, startProcess } from "@klutch/engines";
import { samplesOf } from "./metrics-text.ts";

/** The command that starts an agent, and its metrics. `{port}` in both texts becomes a free port. */
export interface AgentSpec {
  /** Shell command; it finds the app cluster's kubeconfig in `KUBECONFIG`, its namespace in `POD_NAMESPACE`. */
  readonly command: string;
  /** Prometheus text of the agent; undefined when it has none. */
  readonly metricsUrl: string | undefined;
}

/** Builds an app as it is shipped, into `folder`; returns the path of its bundle. */
export async function buildBundle(app: string, folder: string): Promise<string> {
  const bundle = join(folder, `${app}.mjs`);
  const build = join(import.meta.dirname, "..", "..", "..", "tools", "build", "main.ts");
  await promisify(execFile)(process.execPath, [build, app, bundle]);
  return bundle;
}

/** Builds our agent into `folder` as it is shipped: one bundle, started with the environment of its manifest. */
export async function ownAgent(folder: string): Promise<AgentSpec> {
  const bundle = await buildBundle("konnector", folder);
  const environment = Object.entries(konnectorRuntime).map(([name, value]) => `${name}=${value}`);
  return {
    command: `env ${environment.join(" ")} ${process.execPath} ${bundle} --lease-namespace=klutch-bind --probe-host=127.0.0.1 --probe-port={port}`,
    metricsUrl: "http://127.0.0.1:{port}/metrics",
  };
}

/** Runs agents one after another, at most one at a time. */
export class AgentProcess implements AsyncDisposable {
  readonly #spec: AgentSpec;
  readonly #env: Readonly<Record<string, string>>;
  readonly #logFile: string;
  readonly #ports: ReservedPorts;
  #running: RunningProcess | undefined;
  #starts = 0;

  /** `ports`: one that the agent may have; it is given back with the agent. */
  constructor(spec: AgentSpec, env: Readonly<Record<string, string>>, logFile: string, ports: ReservedPorts) {
    this.#spec = spec;
    this.#env = env;
    this.#logFile = logFile;
    this.#ports = ports;
  }

  /** The id of the process group. Throws when the agent does not run. */
  get pid(): number {
    if (this.#running === undefined || this.#running.hasExited) {
      throw new Error(`the agent does not run:\n${this.log()}`);
    }
    return this.#running.pid;
  }

  /** True when the agent was started and has ended by itself. */
  get hasEnded(): boolean {
    return this.#running?.hasExited === true;
  }

  /** Returns as soon as the process has been started. */
  async start(): Promise<void> {
    if (this.#running !== undefined && !this.#running.hasExited) throw new Error("the agent runs already");
    this.#running = await startProcess({
      name: "agent",
      command: "/bin/sh",
      args: ["-c", `exec ${this.#withPort(this.#spec.command)}`],
      // Another name with every start, as pods have: no process may take its predecessor's lease for its own.
      env: { ...this.#env, POD_NAME: `bench-${++this.#starts}` },
      logFile: this.#logFile,
    });
  }

  /** Ends the agent in order. */
  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#running = undefined;
  }

  /** Ends the agent with SIGKILL, as a crash would. */
  async kill(): Promise<void> {
    await this.#running?.kill();
    this.#running = undefined;
  }

  /** The last lines that it wrote. */
  log(): string {
    const lines = logTail(this.#logFile, 8).split("\n");
    return lines.map((line) => line.slice(0, 400)).join("\n");
  }

  /** Value of one of the agent's own metrics, summed over labels; undefined when it does not show it. */
  async metric(name: string): Promise<number | undefined> {
    const { metricsUrl } = this.#spec;
    if (metricsUrl === undefined) return undefined;
    const answer = await fetch(this.#withPort(metricsUrl)).catch(() => undefined);
    const samples = answer?.ok === true ? samplesOf(await answer.text(), name) : [];
    return samples.length === 0 ? undefined : samples.reduce((sum, { value }) => sum + value, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#ports[Symbol.asyncDispose]();
  }

  #withPort(text: string): string {
    return text.replaceAll("{port}", String(this.#ports.ports[0]));
  }
}
