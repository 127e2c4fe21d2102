/** The konnector as a process of its own, with its own account. */
import { consumerNamespace } from "@klutch/api";
import { ownProgram, type RunningProcess, startProcess } from "@klutch/engines";

/** Options of its start. */
export interface KonnectorOptions {
  /** Names its Pod, its log and the holder of its lease; it stays when the container starts again. */
  readonly name: string;
  /** File with its kubeconfig of the app cluster. */
  readonly kubeconfig: string;
  readonly logFile: string;
  /** Serves its probes. */
  readonly port: number;
  /** File of the program. Default: that of this tree. */
  readonly program?: string | undefined;
  /** More flags. */
  readonly flags?: readonly string[] | undefined;
  /** Makes the start wait until it is ready. Default: it only has to exist. */
  readonly isAwaited?: boolean | undefined;
}

/** Starts it; disposing it asks it to end. */
export function startKonnector(options: KonnectorOptions): Promise<RunningProcess> {
  const { name, kubeconfig, logFile, port, flags = [], program = ownProgram("konnector") } = options;
  const probes = ["--probe-host=127.0.0.1", `--probe-port=${port}`];
  const isReady = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  return startProcess({
    name,
    command: process.execPath,
    args: [program, `--lease-namespace=${consumerNamespace}`, ...probes, ...flags],
    env: { KUBECONFIG: kubeconfig, POD_NAME: name, POD_NAMESPACE: consumerNamespace },
    logFile,
    ready: options.isAwaited === true ? isReady : undefined,
  });
}
