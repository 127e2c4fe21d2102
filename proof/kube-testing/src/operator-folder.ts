/** The folder of an operator of another project, which runs as a process: what it reads, and its log. */
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Paths in the folder. */
export interface OperatorFolder {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly logFile: string;
}

/** Makes it below `parent`, with the kubeconfig, which is YAML, for its owner only. */
export async function makeOperatorFolder(
  parent: string,
  name: string,
  kubeconfigText: string,
): Promise<OperatorFolder> {
  const folder = join(parent, name);
  await mkdir(folder, { recursive: true });
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, kubeconfigText, { mode: 0o600 });
  return { folder, kubeconfig, logFile: join(folder, `${name}.log`) };
}

/** Makes one whose webhook server has the certificate of the API server in this folder of `startCluster`. Returns the environment of the process, too. */
export async function makeProviderFolder(
  clusterFolder: string,
  name: string,
  kubeconfigText: string,
): Promise<OperatorFolder & { readonly env: Readonly<Record<string, string>> }> {
  const made = await makeOperatorFolder(clusterFolder, name, kubeconfigText);
  for (const kind of ["crt", "key"])
    await copyFile(join(clusterFolder, "certs", `apiserver.${kind}`), join(made.folder, `tls.${kind}`));
  return { ...made, env: { KUBECONFIG: made.kubeconfig, TLS_SERVER_CERTS_DIR: made.folder } };
}
