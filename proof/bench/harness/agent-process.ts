/** The agent under test as its own process. Nothing here knows what it is, only how it is started and where it may be asked. */
import { join } from "node:path";
import { konnectorRuntime } from "@klutch/api";
import { logTail, reservePorts, run, type RunningProcess, startProcess } from "@klutch/engines";
import { samplesOf } from "@klutch/kube-testing";

/** The checkout that this program is part of. */
export const ownTree: string = join(import.meta.dirname, "..", "..", "..");

/** Builds an app of a checkout as it is shipped, into `folder`; returns the path of its bundle. */
export async function buildBundle(app: string, folder: string, tree: string = ownTree): Promise<string> {
  const bundle = join(folder, `${app}.mjs`);
  const build = join(tree, "tools", "build", "main.ts");
  await run(process.execPath, [build, app, bundle]);
  return bundle;
}

/**
 * Builds our agent into `folder` as it is shipped: one bundle. Returns the command with the environment of its manifest. It holds no deletions:
 * measurements delete many claims at once, and other agents hold none.
 */
export async function ownAgent(folder: string): Promise<string> {
  const bundle = await buildBundle("konnector", folder);
  const environment = Object.entries(konnectorRuntime).map(([name, value]) => `${name}=${value}`);
  return `env ${environment.join(" ")} ${process.execPath} ${bundle} --lease-namespace=klutch-bind --mass-deletion-limit=0 --probe-host=127.0.0.1 --probe-port={port}`;
}

/** Agents that run one after another, at most one at a time. Disposing ends the last one and gives its port back. */
export interface AgentProcess extends AsyncDisposable {
  /** Its process id. Throws when the agent does not run. */
  readonly pid: number;
  /** Returns as soon as the process has been started. `more`: variables of this one alone. */
  start(more?: Readonly<Record<string, string>>): Promise<void>;
  /** Ends the agent in order. */
  stop(): Promise<void>;
  /** Ends the agent with SIGKILL, as a crash would. */
  kill(): Promise<void>;
  /** The last lines that it wrote. */
  log(): string;
  /** Value of one of the agent's own Prometheus metrics, summed over labels; undefined when it does not show it at its port. */
  metric(name: string): Promise<number | undefined>;
}

/**
 * Prepares an agent. `command`: of the shell; it finds the app cluster's kubeconfig in `KUBECONFIG`, its namespace in `POD_NAMESPACE`. `{port}`
 * becomes a free one.
 */
export async function prepareAgent(
  command: string,
  env: Readonly<Record<string, string>>,
  logFile: string,
): Promise<AgentProcess> {
  const reserved = await reservePorts(1);
  const port = String(reserved.ports[0]);
  const log = (): string => logTail(logFile, 8).replaceAll(/^(.{400}).*$/gm, "$1");
  let running: RunningProcess | undefined;
  let starts = 0;
  return {
    get pid() {
      if (running === undefined || running.hasExited) throw new Error(`the agent does not run:\n${log()}`);
      return running.pid;
    },
    async start(more) {
      running = await startProcess({
        name: "agent",
        command: "/bin/sh",
        args: ["-c", `exec ${command.replaceAll("{port}", port)}`],
        // Another name with every start, as pods have: no process may take its predecessor's lease for its own.
        env: { ...env, ...more, POD_NAME: `bench-${++starts}` },
        logFile,
      });
    },
    stop: async () => running?.stop(),
    kill: async () => running?.kill(),
    log,
    async metric(name) {
      const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
      const samples = answer?.ok === true ? samplesOf(await answer.text(), name) : [];
      return samples.length === 0 ? undefined : samples.reduce((sum, { value }) => sum + value, 0);
    },
    async [Symbol.asyncDispose]() {
      await running?.stop();
      await reserved[Symbol.asyncDispose]();
    },
  };
}
