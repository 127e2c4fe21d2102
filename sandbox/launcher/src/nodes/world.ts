/**
 * Clusters of real nodes on which nothing of Klutch is, and beside them what people bring along who follow docs/install.md: a registry,
 * an identity provider, a certificate, and the commands that the page wants.
 */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { KeyPair } from "@klutch/certificates";
import { type NodeCluster, openNodeNetwork, startNodeClusters, startNodeRegistry } from "@klutch/nodes";
import { type CliFiles, writeCliFiles } from "../cli-files.ts";
import { inheritedEnvironment } from "../environment.ts";
import type { Progress } from "../progress.ts";
import { oidcClientId } from "../services/dex.ts";
import { newSecrets, type SandboxSecrets } from "../state.ts";
import { brokerUrl } from "./broker.ts";
import { certificateFor, newAuthority } from "./certificate.ts";
import { packCrossplaneChart } from "./crossplane.ts";
import { startDexPod } from "./dex.ts";
import { openDoor } from "./door.ts";
import { crossplaneImageHost, pushCrossplane, pushDex } from "./images.ts";
import { writeTools } from "./tools.ts";

/** Number of clusters. */
export const clusterCount = 3;

/** A person with empty clusters. Disposing ends and removes everything. */
export interface NodeWorld extends AsyncDisposable {
  /** Kubeconfigs and commands. */
  readonly folder: string;
  /** Folder in which the person types. It has the parts of a checkout that the page names. */
  readonly work: string;
  readonly clusters: Readonly<Record<"controlPlane" | "appA" | "appB", NodeCluster>>;
  readonly cli: CliFiles;
  readonly secrets: SandboxSecrets;
  /** Their environment, with the variables that the page names. */
  readonly person: Readonly<Record<string, string>>;
  /** URL of the identity provider. */
  readonly issuer: string;
  /** PEM of the authority that vouches for the registry, the backend and the identity provider. */
  readonly authority: string;
}

/** User of the broker's API. */
const brokerUser = "klutch";
const root = join(import.meta.dirname, "..", "..", "..", "..");

/** Starts it. Throws `NodeError` Unfit, before anything starts, when this machine cannot have nodes. */
export async function startNodeWorld(progress: Progress, now: Date): Promise<NodeWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-on-nodes-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const network = stack.use(await openNodeNetwork());
  const registry = stack.use(await startNodeRegistry(network));
  const authority = await newAuthority(now);
  const { host } = network.addresses;
  const door = stack.use(
    await openDoor(host, new URL(registry.url), await certificateFor(authority, host, now)),
  );
  const clusters = await progress.step(
    "a control plane cluster and two app clusters of one node each",
    () => {
      const registries = { [door.host]: registry.url, [crossplaneImageHost]: registry.url };
      return startThree(stack, { network, registries });
    },
  );
  const secrets = newSecrets();
  const { address } = clusters.controlPlane.node;
  const certificate = await certificateFor(authority, address, now);
  const issuer = await progress.step("Dex, in a Pod of the control plane", async () => {
    await pushCrossplane(registry);
    const image = await pushDex(registry, door.host);
    const clientSecret = secrets.oidcClientSecret;
    const options = { image, certificate, clientSecret, backendUrl: `https://${address}` };
    return startDexPod(clusters.controlPlane, options);
  });
  const home = join(folder, "home");
  // Where docs/release.md says that the plugin is put.
  const cli = await writeCliFiles({ state: { folder }, clusters }, join(home, ".local", "bin"));
  const work = await makeWorkFolder(folder);
  const path = [await writeTools(folder), cli.bin, inheritedEnvironment["PATH"] ?? ""];
  const person = {
    HOME: home,
    PATH: path.join(delimiter),
    ...(await writeCertificate(folder, certificate, authority.certificate)),
    CONTROL_PLANE: cli.kubeconfigs.controlPlane,
    APP_CLUSTER: cli.kubeconfigs.appA,
    REGISTRY: `${door.host}/klutch`,
    CROSSPLANE_CHART: await packCrossplaneChart(folder),
    BACKEND_HOST: address,
    API_SERVER: clusters.controlPlane.config.server,
    ISSUER: issuer,
    CLIENT_ID: oidcClientId,
    CLIENT_SECRET: secrets.oidcClientSecret,
    BROKER_URL: brokerUrl,
    BROKER_USER: brokerUser,
    BROKER_PASSWORD: secrets.brokerPassword,
  };
  const owned = stack.move();
  return {
    folder,
    work,
    clusters,
    cli,
    secrets,
    person,
    issuer,
    authority: authority.certificate,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** All at the same time. */
async function startThree(
  stack: AsyncDisposableStack,
  options: Parameters<typeof startNodeClusters>[1],
): Promise<NodeWorld["clusters"]> {
  const started = await startNodeClusters(["control-plane", "app-a", "app-b"], options);
  for (const cluster of started) stack.use(cluster);
  const [controlPlane, appA, appB] = started;
  if (controlPlane === undefined || appA === undefined || appB === undefined)
    throw new Error(`${started.length} clusters were started, not ${clusterCount}`);
  return { controlPlane, appA, appB };
}

/** The examples that the page names are there, and what it writes goes nowhere else. */
async function makeWorkFolder(folder: string): Promise<string> {
  const work = join(folder, "work");
  await mkdir(work);
  await symlink(join(root, "configuration"), join(work, "configuration"));
  return work;
}

/** Gives back the variables of the page with the paths. */
async function writeCertificate(
  folder: string,
  { certificate, key }: KeyPair,
  authority: string,
): Promise<Readonly<Record<string, string>>> {
  const texts = { TLS_CERT: certificate, TLS_KEY: key.reveal(), AUTHORITIES: authority };
  const written: Record<string, string> = {};
  for (const [name, text] of Object.entries(texts)) {
    written[name] = join(folder, `${name.toLowerCase()}.pem`);
    await writeFile(written[name], text, { mode: 0o600 });
  }
  // The machine's own store of authorities, for programs that are written in Go.
  return { ...written, SSL_CERT_FILE: written["AUTHORITIES"] ?? "" };
}
