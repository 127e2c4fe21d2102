/** The shipped backend as a process of its own, at a control plane whose tenants a test makes without a login. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ownProgram, reservePorts, type RunningProcess, startProcess } from "@klutch/engines";
import type { TestCluster } from "./cluster.ts";

/** Options of `startBackendProcess`. */
export interface BackendProcessOptions {
  /** Kubeconfig that it connects with. Default: the cluster's administrator. */
  readonly kubeconfig?: string | undefined;
  /** Serves login, binding page and renewal; the identity provider does not exist. Default true. */
  readonly servesLogin?: boolean | undefined;
  /** Files of the certificate that its login is served with. Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** More variables. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** More flags. */
  readonly flags?: readonly string[] | undefined;
  /** File of the program. Default: that of this tree. */
  readonly program?: string | undefined;
  /** Name of its log, its kubeconfig in the cluster's folder and its lease; two backends at a time need two names. Default `backend`. */
  readonly name?: string | undefined;
}

/** A backend that runs until it is disposed. */
export interface BackendProcess extends Pick<RunningProcess, "stop" | "kill" | "pid">, AsyncDisposable {
  /** URL of its login and its renewal. */
  readonly url: string;
  /** URL of its probes and metrics. */
  readonly probeUrl: string;
}

/** Resolves when the backend answers. Its log is in the cluster's folder. */
export async function startBackendProcess(
  cluster: TestCluster,
  options: BackendProcessOptions = {},
): Promise<BackendProcess> {
  const { kubeconfig = cluster.kubeconfig, servesLogin = true, tls, flags = [] } = options;
  const { program = ownProgram("backend"), name = "backend" } = options;
  await using stack = new AsyncDisposableStack();
  const { ports } = stack.use(await reservePorts(2));
  const [plain, probe] = ports.map((port) => `http://127.0.0.1:${port}`);
  const url = tls === undefined ? plain : plain?.replace("http:", "https:");
  const file = join(cluster.dataDir, `${name}.kubeconfig`);
  await writeFile(file, kubeconfig, { mode: 0o600 });
  const login = [
    "--oidc-issuer-url=http://127.0.0.1:1",
    "--oidc-issuer-client-id=x",
    "--oidc-issuer-client-secret=x",
    `--oidc-callback-url=${url}/callback`,
    `--cookie-signing-key=${Buffer.alloc(32, 9).toString("base64")}`,
  ];
  // Its tenants are made without a login, so that no person has bound anything. A program of an earlier release does not know the flag.
  const everyone = program === ownProgram("backend") ? ["--bind-authorization=everyone"] : [];
  const certificate = tls === undefined ? [] : [`--tls-cert-file=${tls.cert}`, `--tls-key-file=${tls.key}`];
  const common = [
    ...everyone,
    ...certificate,
    `--kubeconfig=${file}`,
    `--listen-address=127.0.0.1:${ports[0]}`,
    `--probe-port=${ports[1]}`,
  ];
  const running = await startProcess({
    name,
    command: process.execPath,
    args: [program, ...common, ...(servesLogin ? login : []), ...flags],
    env: { POD_NAME: name, ...options.env },
    logFile: join(cluster.dataDir, `${name}.log`),
    // Without its identity provider it never calls itself ready.
    ready: async () =>
      (
        await fetch(
          !servesLogin ? `${probe}/readyz` : tls === undefined ? `${url}/export` : `${probe}/healthz`,
        )
      ).ok,
  });
  stack.use(running);
  return Object.assign(stack.move(), {
    url: url ?? "",
    probeUrl: probe ?? "",
    pid: running.pid,
    stop: () => running.stop(),
    kill: () => running.kill(),
  });
}
