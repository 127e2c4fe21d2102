/** Kubeconfigs of service accounts: each part runs with its own, from the TokenRequest API, renewed while the sandbox runs. */
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ClusterConfig,
  formatKubeconfig,
  isAlreadyExists,
  type KubeClient,
  serviceAccountToken,
} from "@klutch/kube";
import { serviceAccounts } from "@klutch/kube-core";
import type { Supervision } from "./supervise.ts";

const lifetimeSeconds = 4 * 3600;
const renewEveryMs = 3600 * 1000;

/** A cluster as its administrator sees it. */
export interface AdminCluster {
  readonly config: ClusterConfig;
  readonly client: KubeClient;
}

/** Creates the account if it is missing. */
export async function ensureAccount(client: KubeClient, namespace: string, name: string): Promise<void> {
  try {
    await client.create(serviceAccounts, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { namespace, name },
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Writes a kubeconfig with a token file beside it; gives back its path. The token is renewed until the stack is disposed. */
export async function accountKubeconfig(
  cluster: AdminCluster,
  account: { readonly namespace: string; readonly name: string },
  folder: string,
  { stack, progress }: Supervision,
): Promise<string> {
  const base = join(folder, `${cluster.config.name}-${account.name}`);
  const renew = async (): Promise<void> => {
    const { token } = await serviceAccountToken(cluster.client, account, {
      expirationSeconds: lifetimeSeconds,
    });
    await writeFile(`${base}.token.new`, token.reveal(), { mode: 0o600 });
    await rename(`${base}.token.new`, `${base}.token`);
  };
  await renew();
  const timer = setInterval(() => {
    renew().catch((error: unknown) => {
      progress.say(`the token of ${account.namespace}/${account.name} was not renewed: ${String(error)}`);
    });
  }, renewEveryMs);
  stack.defer(() => clearInterval(timer));
  const { config } = cluster;
  const text = formatKubeconfig({
    ...config,
    namespace: account.namespace,
    auth: { kind: "tokenFile", path: `${base}.token` },
  });
  await writeFile(`${base}.kubeconfig`, text, { mode: 0o600 });
  return `${base}.kubeconfig`;
}
