/** Defines the context that the parts of the sandbox share while it runs; each part runs with an account of its own. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ClusterConfig, formatKubeconfig, type KubeClient, serviceAccountToken } from "@klutch/kube";
import type { ObjectRef } from "@klutch/kube-core";
import type { OwnCluster } from "@klutch/kube-testing";
import type { Generation } from "@klutch/services";
import type { Progress } from "./progress.ts";
import type { State } from "./state.ts";

/** Names of the clusters. */
export type ClusterName = "controlPlane" | "appA" | "appB";

/** Context before any cluster exists. Everything that must end with the sandbox is in `stack`. */
export interface SandboxBase {
  readonly state: State;
  readonly progress: Progress;
  /** Generations of claims to offer. */
  readonly generations: readonly Generation[];
  readonly stack: AsyncDisposableStack;
}

/** The running sandbox; its servers end with `stack`, its loops with `signal`. */
export interface SandboxContext extends SandboxBase {
  readonly clusters: Readonly<Record<ClusterName, OwnCluster>>;
  readonly signal: AbortSignal;
}

/** Paths of the commands and kubeconfigs for users of the sandbox. */
export interface CliFiles {
  readonly bin: string;
  readonly kubeconfigs: Readonly<Record<ClusterName, string>>;
}

/** A sandbox as its demo knows it, wherever its parts run. */
export interface DemoContext {
  readonly cli: CliFiles;
  readonly state: { readonly folder: string };
  readonly progress: Progress;
  readonly clusters: Readonly<Record<ClusterName, AdminCluster>>;
}

/** App cluster of a developer. */
export type AppCluster = Exclude<ClusterName, "controlPlane">;

/** Namespace of Crossplane. */
export const crossplaneNamespace = "crossplane-system";

/** Longer than any sandbox runs; each start writes a new token. */
const lifetimeSeconds = 365 * 24 * 3600;

/** A cluster as its administrator sees it. */
export interface AdminCluster {
  readonly config: ClusterConfig;
  readonly client: KubeClient;
}

/** Writes a kubeconfig with a token file beside it, and returns its path. Throws when the account does not exist. */
export async function accountKubeconfig(
  of: AdminCluster,
  account: ObjectRef,
  folder: string,
): Promise<string> {
  const { config, client } = of;
  const { token } = await serviceAccountToken(client, account, { expirationSeconds: lifetimeSeconds });
  await mkdir(folder, { recursive: true });
  const base = join(folder, `${config.name}-${account.name}`);
  const auth = { kind: "tokenFile", path: `${base}.token` } as const;
  await writeFile(auth.path, token.reveal(), { mode: 0o600 });
  const text = formatKubeconfig({ ...config, namespace: account.namespace, auth });
  await writeFile(`${base}.kubeconfig`, text, { mode: 0o600 });
  return `${base}.kubeconfig`;
}
