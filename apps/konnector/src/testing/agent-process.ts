/** The konnector as a process with the shipped limits of memory, and what it costs. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { consumerNamespace, konnectorRuntime } from "@klutch/api";
import { ownProgram, reservePorts, type RunningProcess, startProcess } from "@klutch/engines";
import { formatKubeconfig } from "@klutch/kube";
import type { TestCluster } from "@klutch/kube-testing";
import { agentConfig } from "./fixture.ts";

/** A running agent. */
export interface AgentProcess extends AsyncDisposable {
  readonly hasExited: boolean;
  /** Port of its probes and metrics on loopback. */
  readonly probePort: number;
  restart(): Promise<void>;
  /** Returns the most memory since it was asked last, in MiB. */
  peak(): Promise<number>;
  /**
   * Asks the probe until told to stop. Returns the most work that the event loop did before it answered, in milliseconds of its own CPU time:
   * other processes take some of the time that passes.
   */
  longestStall(until: Promise<unknown>): Promise<number>;
}

/** Starts the agent of an app cluster. `flags`: further ones. */
export async function startAgentProcess(
  consumer: TestCluster,
  flags: readonly string[] = [],
): Promise<AgentProcess> {
  const reserved = await reservePorts(1);
  const probe = `http://127.0.0.1:${reserved.ports[0]}`;
  const file = join(consumer.dataDir, "agent.kubeconfig");
  await writeFile(file, formatKubeconfig(await agentConfig(consumer)), { mode: 0o600 });
  const start = (): Promise<RunningProcess> =>
    startProcess({
      name: "konnector",
      command: process.execPath,
      args: [
        ownProgram("konnector"),
        `--lease-namespace=${consumerNamespace}`,
        "--probe-host=127.0.0.1",
        `--probe-port=${reserved.ports[0]}`,
        ...flags,
      ],
      // In a container with the shipped limit of 512 MiB, Node takes half of it for its heap.
      env: {
        ...konnectorRuntime,
        NODE_OPTIONS: `${konnectorRuntime["NODE_OPTIONS"]} --max-old-space-size=256`,
        POD_NAME: "me",
        KUBECONFIG: file,
      },
      logFile: join(consumer.dataDir, "konnector.log"),
      ready: async () => (await fetch(`${probe}/healthz`)).ok,
    });
  let konnector = await start();
  /** Milliseconds of CPU time that the thread of the event loop has used. */
  const cpuMs = async (): Promise<number> => {
    const stat = await readFile(`/proc/${konnector.pid}/task/${konnector.pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")")).split(" ");
    return (Number(fields[12]) + Number(fields[13])) * 10;
  };
  return {
    probePort: reserved.ports[0] ?? 0,
    get hasExited() {
      return konnector.hasExited;
    },
    restart: async () => {
      await konnector.stop();
      konnector = await start();
    },
    peak: async () => {
      const status = await readFile(`/proc/${konnector.pid}/status`, "utf8");
      await writeFile(`/proc/${konnector.pid}/clear_refs`, "5");
      return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    },
    longestStall: async (until) => {
      let isOver = false;
      const end = (): boolean => (isOver = true);
      until.then(end, end);
      let longest = 0;
      while (!isOver) {
        const used = await cpuMs();
        // A connection of its own for each question: one that is kept may be closed by the agent just as the next question goes out.
        await (await fetch(`${probe}/healthz`, { headers: { connection: "close" } })).text();
        longest = Math.max(longest, (await cpuMs()) - used);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return longest;
    },
    [Symbol.asyncDispose]: async () => {
      await konnector.stop();
      await reserved[Symbol.asyncDispose]();
    },
  };
}
