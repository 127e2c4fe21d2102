/** The tenant gateway as a process of its own, with an account that may read what the shipped one may. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ownProgram, reservePorts, type RunningProcess, startProcess } from "@klutch/engines";
import { formatKubeconfig, isAlreadyExists } from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  namespaces,
  type ResourceType,
  serviceAccounts,
} from "@klutch/kube-core";
import { accountConfig } from "./access.ts";
import type { TestCluster } from "./cluster.ts";
import { namespaceObject, roleBindingObject, roleObject, ruleOn, serviceAccountObject } from "./objects.ts";

/** A gateway over a cluster. Disposing it ends its process and gives its ports back. */
export interface GatewayProcess extends AsyncDisposable {
  /** Stays the same after `restart`. Its certificate is the cluster's own. */
  readonly url: string;
  /** URL of its probes and metrics. */
  readonly probeUrl: string;
  /** Process that serves now; another one after `restart`. */
  readonly pid: number;
  /** Ends it by SIGKILL, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again at the same address, after SIGKILL if it still runs; resolves when it listens. */
  restart(): Promise<void>;
}

const account = { namespace: "klutch-backend", name: "klutch-gateway" };

/** Starts one that may follow these kinds, and no others. Its log is in the cluster's folder. */
export async function startGatewayProcess(
  cluster: TestCluster,
  { kinds, flags = [] }: { readonly kinds: readonly ResourceType[]; readonly flags?: readonly string[] },
): Promise<GatewayProcess> {
  await giveRights(cluster, kinds);
  await using stack = new AsyncDisposableStack();
  const { ports } = stack.use(await reservePorts(2));
  const probeUrl = `http://127.0.0.1:${ports[1]}`;
  const kubeconfig = join(cluster.dataDir, "gateway.kubeconfig");
  await writeFile(kubeconfig, formatKubeconfig(await accountConfig(cluster, account)), { mode: 0o600 });
  const certs = join(cluster.dataDir, "certs");
  const start = (): Promise<RunningProcess> =>
    startProcess({
      name: "gateway",
      command: process.execPath,
      args: [
        ownProgram("backend"),
        "gateway",
        `--kubeconfig=${kubeconfig}`,
        `--listen-address=127.0.0.1:${ports[0]}`,
        `--health-probe-bind-address=127.0.0.1:${ports[1]}`,
        `--tls-cert-file=${join(certs, "apiserver.crt")}`,
        `--tls-key-file=${join(certs, "apiserver.key")}`,
        ...flags,
      ],
      logFile: join(cluster.dataDir, "gateway.log"),
      ready: async () => (await fetch(`${probeUrl}/readyz`)).ok,
    });
  let running = await start();
  stack.defer(() => running.kill());
  const owned = stack.move();
  return {
    url: `https://127.0.0.1:${ports[0]}`,
    probeUrl,
    get pid() {
      return running.pid;
    },
    kill: () => running.kill(),
    async restart() {
      await running.kill();
      running = await start();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function giveRights({ client }: TestCluster, kinds: readonly ResourceType[]): Promise<void> {
  const { namespace, name } = account;
  const make = async (made: Promise<unknown>): Promise<void> => {
    await made.catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  };
  await make(client.create(namespaces, namespaceObject(namespace)));
  await make(client.create(serviceAccounts, serviceAccountObject(account)));
  const rules = kinds.map((type) => ruleOn(type, ["list", "watch"]));
  await make(client.create(clusterRoles, roleObject({ name }, rules)));
  const binding = roleBindingObject({ name }, { kind: "ClusterRole", name }, account);
  await make(client.create(clusterRoleBindings, binding));
}
