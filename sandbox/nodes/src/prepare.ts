/** Writes everything that the servers of a cluster read: certificates, kubeconfigs, configurations. */
import { generateKeyPairSync } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { type Authority, createAuthority, type KeyPair, type Subject } from "@klutch/certificates";
import { type ClusterConfig, formatKubeconfig, formatYaml } from "@klutch/kube";
import type { NodeAddresses } from "./addresses.ts";
import { cniConflist, containerdToml, hostsToml } from "./config/containerd.ts";
import { kubeletConfiguration, proxyConfiguration } from "./config/kubelet.ts";
import { apiPort, type ClusterFiles, clusterDomain, ranges } from "./layout.ts";
import type { ClusterPrograms } from "./programs.ts";
import { systemImage } from "./system-images.ts";
import { kubeletClientUser } from "./system-objects.ts";

/** What a cluster is made from. */
export interface ClusterPlan {
  readonly name: string;
  readonly node: NodeAddresses;
  readonly nodeName: string;
  readonly files: ClusterFiles;
  readonly programs: ClusterPrograms;
  /** URL by the host that images name. */
  readonly registries: Readonly<Record<string, string>>;
  readonly now: Date;
}

/** How long certificates are good. */
const days = 365;

/** Writes the files, for our eyes only, and gives back how the administrator gets in. */
export async function prepare(plan: ClusterPlan): Promise<ClusterConfig> {
  const { files, now } = plan;
  // One for servers and clients, as cluster set-up tools make them (Kubernetes: PKI certificates and requirements).
  const authority = await createAuthority(`klutch-${plan.name}`, { now, days });
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  await write(files.ca, authority.certificate);
  await write(files.accountKey, privateKey.export({ type: "pkcs1", format: "pem" }));
  for (const [name, subject] of Object.entries(certificateSubjects(plan)))
    await writePair(files, name, await authority.issue(subject, { now, days }));
  for (const [name, subject] of Object.entries(users(plan.nodeName)))
    await write(files.kubeconfig(name), formatKubeconfig(await access(plan, authority, subject)));
  await writeConfigurations(plan);
  return access(plan, authority, { use: "client", name: "admin", organization: "system:masters" });
}

function certificateSubjects({ node, nodeName }: ClusterPlan): Readonly<Record<string, Subject>> {
  const service = ["kubernetes", "default", "svc", clusterDomain];
  return {
    apiserver: {
      use: "server",
      name: "kube-apiserver",
      hosts: [
        "localhost",
        ...service.map((_, index) => service.slice(0, index + 1).join(".")),
        "127.0.0.1",
        ranges.apiService,
        node.address,
      ],
    },
    "kubelet-server": { use: "server", name: nodeName, hosts: [nodeName, node.address, "127.0.0.1"] },
    "kubelet-client": { use: "client", name: kubeletClientUser },
  };
}

function users(nodeName: string): Readonly<Record<string, Subject>> {
  return {
    "controller-manager": { use: "client", name: "system:kube-controller-manager" },
    scheduler: { use: "client", name: "system:kube-scheduler" },
    proxy: { use: "client", name: "system:kube-proxy" },
    kubelet: { use: "client", name: `system:node:${nodeName}`, organization: "system:nodes" },
  };
}

async function access(plan: ClusterPlan, authority: Authority, subject: Subject): Promise<ClusterConfig> {
  const { certificate: cert, key } = await authority.issue(subject, { now: plan.now, days });
  return {
    name: plan.name,
    server: `https://${plan.node.address}:${apiPort}`,
    ca: authority.certificate,
    auth: { kind: "clientCertificate", cert, key },
  };
}

async function writePair(files: ClusterFiles, name: string, { certificate, key }: KeyPair): Promise<void> {
  await write(files.certificate(name), certificate);
  await write(files.key(name), key.reveal());
}

async function writeConfigurations({ files, programs, registries, nodeName }: ClusterPlan): Promise<void> {
  const { containerd, cni, kubelet, proxyConfig } = files;
  const toml = containerdToml({
    root: containerd.root,
    registries: containerd.registries,
    cniConfig: cni,
    cniPlugins: programs.runtime.pluginFolder,
    runc: programs.runtime.path("runc"),
    pauseImage: systemImage("pause"),
  });
  await write(containerd.config, toml);
  await write(`${cni}/10-klutch.conflist`, cniConflist);
  for (const [host, url] of Object.entries(registries))
    await write(`${containerd.registries}/${host}/hosts.toml`, hostsToml(url));
  await write(kubelet.config, formatYaml(kubeletConfiguration(files)));
  await write(proxyConfig, formatYaml(proxyConfiguration(files, nodeName)));
}

async function write(path: string, content: string | Buffer): Promise<void> {
  await mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
  await writeFile(path, content, { mode: 0o600 });
}
