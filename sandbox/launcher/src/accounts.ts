/** Writes kubeconfigs of service accounts: each part of the sandbox runs with an account of its own. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ClusterConfig, formatKubeconfig, type KubeClient, serviceAccountToken } from "@klutch/kube";
import type { ObjectRef } from "@klutch/kube-core";

/** Longer than any sandbox runs; each start writes a new token. */
const lifetimeSeconds = 365 * 24 * 3600;

/** A cluster as its administrator sees it. */
export interface AdminCluster {
  readonly config: ClusterConfig;
  readonly client: KubeClient;
}

/** Writes a kubeconfig with a token file beside it, and returns its path. Throws when the account does not exist. */
export async function accountKubeconfig(
  { config, client }: AdminCluster,
  account: ObjectRef,
  folder: string,
): Promise<string> {
  const { token } = await serviceAccountToken(client, account, { expirationSeconds: lifetimeSeconds });
  await mkdir(folder, { recursive: true });
  const base = join(folder, `${config.name}-${account.name}`);
  const auth = { kind: "tokenFile", path: `${base}.token` } as const;
  await writeFile(auth.path, token.reveal(), { mode: 0o600 });
  const text = formatKubeconfig({ ...config, namespace: account.namespace, auth });
  await writeFile(`${base}.kubeconfig`, text, { mode: 0o600 });
  return `${base}.kubeconfig`;
}
