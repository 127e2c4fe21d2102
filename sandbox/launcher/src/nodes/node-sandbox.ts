/**
 * Clusters of real nodes without Klutch, and beside them the prerequisites of people who follow docs/install.md: a registry,
 * an identity provider, a certificate, and the commands that the page wants.
 */
import { mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createAuthority, type KeyPair } from "@klutch/certificates";
import { inheritedEnvironment } from "@klutch/engines";
import { type NodeCluster, openNodeNetwork, startNodeCluster, startNodeRegistry } from "@klutch/nodes";
import { writeCliFiles } from "../cli-files.ts";
import type { CliFiles, ClusterName } from "../context.ts";
import { repository, together } from "../machine.ts";
import type { Progress } from "../progress.ts";
import { oidcClientId, sandboxUser, startDexPod } from "../services/dex.ts";
import { completeSecrets, type SandboxSecrets } from "../state.ts";
import { openEndpoint } from "./endpoint.ts";
import { crossplaneImageHost, packCrossplaneChart, pushCrossplane, pushDex, writeTools } from "./images.ts";

/** Number of clusters. */
export const clusterCount = 3;

/** The broker of the bundle for trying Klutch out: name and namespace of its objects, user of its API, URL for Pods of the control plane. */
export const broker = {
  name: "klutch-broker",
  namespace: "klutch-backend",
  user: "klutch",
  url: "http://klutch-broker.klutch-backend",
} as const;

/** A person with empty clusters. Disposing ends and removes everything. */
export interface NodeSandbox extends AsyncDisposable {
  /** Kubeconfigs and commands. */
  readonly folder: string;
  /** Folder in which the person types. It has the parts of a checkout that the page names. */
  readonly work: string;
  readonly clusters: Readonly<Record<ClusterName, NodeCluster>>;
  readonly cli: CliFiles;
  readonly secrets: SandboxSecrets;
  /** Their environment, with the variables that the page names. */
  readonly person: Readonly<Record<string, string>>;
  /** Base URL of the backend. */
  readonly backendUrl: string;
  /** URL of the identity provider. */
  readonly issuer: string;
}

/** Starts it. Throws `EngineError` Unfit, before anything starts, when this machine cannot have nodes. */
export async function startNodeSandbox(progress: Progress, now: Date): Promise<NodeSandbox> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-on-nodes-"))).path;
  const network = stack.use(await openNodeNetwork());
  const registry = stack.use(await startNodeRegistry(network));
  // Its name is no server's: OpenSSL takes a certificate whose issuer has its own name for self-signed.
  const validity = { now, days: 365 };
  const authority = await createAuthority("klutch-sandbox authority", validity);
  const certificateFor = (address: string): Promise<KeyPair> =>
    authority.issue({ use: "server", name: "klutch-sandbox", hosts: [address] }, validity);
  const { host } = network.addresses;
  const endpoint = stack.use(await openEndpoint(host, new URL(registry.url), await certificateFor(host)));
  const registries = { [endpoint.host]: registry.url, [crossplaneImageHost]: registry.url };
  const start = async (name: string): Promise<NodeCluster> =>
    stack.use(await startNodeCluster({ name, network, registries }));
  const [controlPlane, appA, appB] = await progress.step(
    "a control plane cluster and two app clusters of one node each",
    () => together([start("control-plane"), start("app-a"), start("app-b")]),
  );
  const clusters = { controlPlane, appA, appB };
  const secrets = completeSecrets();
  const { address } = controlPlane.node;
  const backendUrl = `https://${address}`;
  const certificate = await certificateFor(address);
  const issuer = await progress.step("Dex, in a Pod of the control plane", async () => {
    await pushCrossplane(registry);
    const image = `${endpoint.host}/${await pushDex(registry)}`;
    return startDexPod(controlPlane, image, certificate, secrets.oidcClientSecret, backendUrl);
  });
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(folder, `${name}.pem`);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  const authorities = await write("authorities", authority.certificate);
  const home = join(folder, "home");
  // The folder in which docs/release.md installs the plugin.
  const cli = await writeCliFiles(folder, clusters, join(home, ".local", "bin"));
  const path = [await writeTools(folder), cli.bin, inheritedEnvironment["PATH"] ?? ""];
  const person = {
    HOME: home,
    PATH: path.join(delimiter),
    TLS_CERT: await write("certificate", certificate.certificate),
    TLS_KEY: await write("key", certificate.key.reveal()),
    AUTHORITIES: authorities,
    // The machine's own store of authorities, for programs that are written in Go.
    SSL_CERT_FILE: authorities,
    CONTROL_PLANE: cli.kubeconfigs.controlPlane,
    APP_CLUSTER: cli.kubeconfigs.appA,
    REGISTRY: `${endpoint.host}/klutch`,
    CROSSPLANE_CHART: await packCrossplaneChart(folder),
    BACKEND_HOST: address,
    API_SERVER: controlPlane.config.server,
    ISSUER: issuer,
    CLIENT_ID: oidcClientId,
    CLIENT_SECRET: secrets.oidcClientSecret,
    PERSON: sandboxUser.email,
    BROKER_URL: broker.url,
    BROKER_USER: broker.user,
    BROKER_PASSWORD: secrets.brokerPassword,
  };
  // The examples that the page names are there, and the page's output stays inside.
  const work = join(folder, "work");
  await mkdir(work);
  await symlink(join(repository, "configuration"), join(work, "configuration"));
  // A person would add the authority to the browser's.
  setDefaultCACertificates([...getCACertificates("default"), authority.certificate]);
  const sandbox = { folder, work, clusters, cli, secrets, person, backendUrl, issuer };
  return Object.assign(stack.move(), sandbox);
}
