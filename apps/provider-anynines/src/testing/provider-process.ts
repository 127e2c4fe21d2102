/** The provider as a process of its own, with lease, probes and metrics. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reservePorts, type RunningProcess, startProcess } from "@klutch/engines";

/** A provider process. */
export interface ProviderProcess extends AsyncDisposable {
  /** Port of its probes and metrics. */
  readonly port: number;
  readonly process: RunningProcess;
}

/** Starts it with its files in the folder, and waits until it is ready. */
export async function startProviderProcess(folder: string, kubeconfig: string): Promise<ProviderProcess> {
  await using starting = new AsyncDisposableStack();
  const [port = 0] = starting.use(await reservePorts(1)).ports;
  const address = `127.0.0.1:${port}`;
  const file = join(folder, "kubeconfig");
  await writeFile(file, kubeconfig, { mode: 0o600 });
  const flags = ["--leader-election", "--namespace=default", `--health-probe-bind-address=${address}`];
  const running = starting.use(
    await startProcess({
      name: "provider",
      command: process.execPath,
      args: [join(import.meta.dirname, "../main.ts"), "--poll=1s", ...flags],
      env: { KUBECONFIG: file },
      logFile: join(folder, "provider.log"),
      ready: async () => (await fetch(`http://${address}/readyz`)).ok,
    }),
  );
  const stack = starting.move();
  return { port, process: running, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
