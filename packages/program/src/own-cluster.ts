/** The cluster that a server works in. */
import { type ClusterConfig, inClusterConfig, loadKubeconfig } from "@klutch/kube";
import { type Flag, optionalText } from "./flag.ts";

/** The flag that names another one. */
export const kubeconfigFlag: Flag<string | undefined> = {
  ...optionalText({
    value: "path",
    help: "Kubeconfig of the cluster to work in; KUBECONFIG in the environment names one or a list; without either the Pod's own account is used",
  }),
};

/** Returns the cluster of the kubeconfig that the flag or KUBECONFIG names; otherwise the cluster of this process's Pod. */
export function ownCluster(
  { kubeconfig }: { readonly kubeconfig: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
): Promise<ClusterConfig> {
  const isOutside = kubeconfig !== undefined || (env["KUBECONFIG"] ?? "") !== "";
  return isOutside ? loadKubeconfig({ path: kubeconfig, env }) : inClusterConfig(env);
}
