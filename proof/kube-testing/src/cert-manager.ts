/** The real cert-manager as a process: an operator that nobody here wrote, with its kinds. */
import { dirname, join } from "node:path";
import { reservePorts, resolveEngine, startProcess } from "@klutch/engines";
import type { KubeClient } from "@klutch/kube";
import type { KubeObject, ResourceType } from "@klutch/kube-core";
import { installKinds, manifestsIn } from "./install.ts";
import { makeOperatorFolder } from "./operator-folder.ts";

/** Options of `startCertManager`. */
export interface CertManagerOptions {
  /** A client of the administrator. */
  readonly client: KubeClient;
  /** Kubeconfig that it works with, as YAML. */
  readonly kubeconfig: string;
  /** Folder for its files, which exists. */
  readonly folder: string;
  /** Namespace of the Secrets that ClusterIssuers name. It must exist. */
  readonly namespace: string;
}

/** The kind that its users make: a certificate in a Secret whose name they choose. */
export const certificates: ResourceType = {
  group: "cert-manager.io",
  version: "v1",
  plural: "certificates",
  kind: "Certificate",
  namespaced: true,
};

/** A try to get a Certificate signed, owned by it. */
export const certificateRequests: ResourceType = {
  ...certificates,
  plural: "certificaterequests",
  kind: "CertificateRequest",
};

/** Controllers that sign by a key in a Secret. The others speak with servers in the internet, or make Pods. */
const controllers = [
  "issuers",
  "clusterissuers",
  ...["issuing", "key-manager", "metrics", "readiness", "request-manager", "revision-manager", "trigger"].map(
    (name) => `certificates-${name}`,
  ),
  ...["approver", "issuer-ca", "issuer-selfsigned"].map((name) => `certificaterequests-${name}`),
];

/**
 * Installs its kinds and starts its controller, without its webhook: a Certificate that the webhook would refuse is stored. A Secret goes with its
 * Certificate, which is an option of its users. Disposing it stops the process; the kinds stay.
 */
export async function startCertManager(options: CertManagerOptions): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const { ports } = stack.use(await reservePorts(1));
  const program = await resolveEngine("cert-manager");
  await installKinds(options.client, await readKinds(join(dirname(program), "deploy", "crds")));
  const { kubeconfig, logFile } = await makeOperatorFolder(
    options.folder,
    "cert-manager",
    options.kubeconfig,
  );
  const metrics = `127.0.0.1:${ports[0]}`;
  stack.use(
    await startProcess({
      name: "cert-manager",
      command: program,
      args: [
        `--kubeconfig=${kubeconfig}`,
        "--leader-elect=false",
        `--cluster-resource-namespace=${options.namespace}`,
        `--metrics-listen-address=${metrics}`,
        `--controllers=${controllers.join(",")}`,
        "--enable-certificate-owner-ref",
      ],
      logFile,
      ready: async () => (await fetch(`http://${metrics}/metrics`)).ok,
    }),
  );
  return stack.move();
}

/** Reads its kinds. They are templates of Helm, in labels only. */
async function readKinds(folder: string): Promise<readonly KubeObject[]> {
  const withoutTemplates = (text: string): string =>
    text
      .split("\n")
      .filter((line) => !line.includes("{{"))
      .join("\n");
  return (await manifestsIn(folder, withoutTemplates)).map(
    ({ metadata: { labels: _none, ...metadata }, ...crd }) => ({
      ...crd,
      metadata,
    }),
  );
}
