/** Arguments of the servers of a control plane that has a node. */
import { apiPort, type ClusterFiles, ranges } from "../layout.ts";

/** Of the API server. `etcd` is its address. */
export function apiServerArguments(
  { ca, accountKey, certificate, key }: ClusterFiles,
  {
    address,
    etcd,
    more = [],
  }: { readonly address: string; readonly etcd: string; readonly more?: readonly string[] },
): readonly string[] {
  return [
    `--etcd-servers=${etcd}`,
    "--bind-address=0.0.0.0",
    `--secure-port=${apiPort}`,
    `--advertise-address=${address}`,
    `--service-cluster-ip-range=${ranges.services}`,
    `--tls-cert-file=${certificate("apiserver")}`,
    `--tls-private-key-file=${key("apiserver")}`,
    `--client-ca-file=${ca}`,
    `--kubelet-client-certificate=${certificate("kubelet-client")}`,
    `--kubelet-client-key=${key("kubelet-client")}`,
    `--kubelet-certificate-authority=${ca}`,
    "--kubelet-preferred-address-types=InternalIP",
    `--service-account-key-file=${accountKey}`,
    `--service-account-signing-key-file=${accountKey}`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--allow-privileged=true",
    ...more,
  ];
}

/** Of the controller manager, with all its usual controllers. */
export function controllerManagerArguments({ ca, accountKey, kubeconfig }: ClusterFiles): readonly string[] {
  return [
    `--kubeconfig=${kubeconfig("controller-manager")}`,
    "--bind-address=127.0.0.1",
    "--leader-elect=false",
    "--use-service-account-credentials=true",
    `--root-ca-file=${ca}`,
    `--service-account-private-key-file=${accountKey}`,
    "--allocate-node-cidrs=false",
  ];
}

/** Of the scheduler. */
export function schedulerArguments({ kubeconfig }: ClusterFiles): readonly string[] {
  return [`--kubeconfig=${kubeconfig("scheduler")}`, "--bind-address=127.0.0.1", "--leader-elect=false"];
}

/** Of the kubelet of the only node. */
export function kubeletArguments(
  { kubelet, kubeconfig }: ClusterFiles,
  { name, address }: { readonly name: string; readonly address: string },
): readonly string[] {
  return [
    `--config=${kubelet.config}`,
    `--kubeconfig=${kubeconfig("kubelet")}`,
    `--root-dir=${kubelet.root}`,
    `--cert-dir=${kubelet.root}/pki`,
    `--node-ip=${address}`,
    `--hostname-override=${name}`,
  ];
}
