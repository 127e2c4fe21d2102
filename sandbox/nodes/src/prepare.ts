/** Writes the files that the servers of a cluster read: certificates, kubeconfigs, configurations. */
import { generateKeyPairSync } from "node:crypto";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createAuthority, type Subject } from "@klutch/certificates";
import type { NodePrograms } from "@klutch/engines";
import { type ClusterConfig, formatKubeconfig } from "@klutch/kube";
import { apiPort, apiService, clusterDomain, configFolder, kubeletClientUser, nodeName } from "./facts.ts";
import type { NodeAddresses } from "./network.ts";

/** Parts of which a cluster is made. */
export interface ClusterPlan {
  readonly name: string;
  readonly node: NodeAddresses;
  /** Path outside of the folder that is `home` inside. */
  readonly folder: string;
  readonly programs: NodePrograms;
  /** URL by the host that images name. */
  readonly registries: Readonly<Record<string, string>>;
  readonly now: Date;
}

/** Validity of the certificates. */
const days = 365;

/** Writes the files, readable for this user only, and returns the administrator's access. */
export async function prepare({
  name,
  node,
  folder,
  programs,
  registries,
  now,
}: ClusterPlan): Promise<ClusterConfig> {
  const write = async (path: string, content: string | Buffer): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
    await writeFile(join(folder, path), content, { mode: 0o600 });
  };
  // One for servers and clients, as cluster set-up tools make them (Kubernetes: PKI certificates and requirements).
  const authority = await createAuthority(`klutch-${name}`, { now, days });
  const access = async (subject: Omit<Subject, "use">): Promise<ClusterConfig> => {
    const { certificate: cert, key } = await authority.issue({ ...subject, use: "client" }, { now, days });
    const server = `https://${node.address}:${apiPort}`;
    return { name, server, ca: authority.certificate, auth: { kind: "clientCertificate", cert, key } };
  };
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  await write("pki/ca.crt", authority.certificate);
  await write("pki/service-account.key", privateKey.export({ type: "pkcs1", format: "pem" }));
  for (const [file, subject] of Object.entries(certificates(node))) {
    const { certificate, key } = await authority.issue(subject, { now, days });
    await write(`pki/${file}.crt`, certificate);
    await write(`pki/${file}.key`, key.reveal());
  }
  for (const [file, subject] of Object.entries(users))
    await write(`kubeconfigs/${file}`, formatKubeconfig(await access(subject)));
  for (const [host, url] of Object.entries(registries))
    await write(`registries/${host}/hosts.toml`, hostsToml(url));
  await cp(configFolder, folder, { recursive: true });
  for (const name of ["kubelet", "pod-logs", "programs"]) await mkdir(join(folder, name));
  await symlink(programs.path("runc"), join(folder, "programs/runc"));
  await symlink(programs.pluginFolder, join(folder, "programs/cni"));
  return access({ name: "admin", organization: "system:masters" });
}

function certificates({ address }: NodeAddresses): Readonly<Record<string, Subject>> {
  const names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
  const hosts = ["localhost", ...names, `${names[2]}.${clusterDomain}`, "127.0.0.1", apiService, address];
  return {
    apiserver: { use: "server", name: "kube-apiserver", hosts },
    "kubelet-server": { use: "server", name: nodeName, hosts: [nodeName, address, "127.0.0.1"] },
    "kubelet-client": { use: "client", name: kubeletClientUser },
  };
}

const users: Readonly<Record<string, Omit<Subject, "use">>> = {
  "controller-manager": { name: "system:kube-controller-manager" },
  scheduler: { name: "system:kube-scheduler" },
  proxy: { name: "system:kube-proxy" },
  kubelet: { name: `system:node:${nodeName}`, organization: "system:nodes" },
};

/** Tells containerd to pull images of a registry from this URL, which may speak HTTP, and never to push there. */
export function hostsToml(url: string): string {
  return `server = "${url}"\n[host."${url}"]\ncapabilities = ["pull", "resolve"]\n`;
}
