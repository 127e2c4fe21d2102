/**
 * The runtime controller that `--package-runtime=External` leaves to others: for each active revision a TLS
 * Secret, and in its status that the runtime is healthy and, for a function, where it listens. For the provider also a Deployment
 * without replicas, from which the RBAC manager learns the provider's service account. The certificates of the composition function and its client,
 * Crossplane, are for mutual TLS.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { packageType } from "@klutch/api";
import { createAuthority, type Subject } from "@klutch/certificates";
import { type KubeClient, systemClock } from "@klutch/kube";
import * as core from "@klutch/kube-core";
import { secretObject } from "@klutch/kube-testing";
import { crossplaneNamespace, type SandboxContext } from "../context.ts";
import { conditionOf, shippedManifests } from "../objects.ts";

/** Service account of the provider's process. */
export const providerAccount = "provider-anynines";

const functionRevisions = packageType("FunctionRevision", "functionrevisions");
const providerRevisions = packageType("ProviderRevision", "providerrevisions");
const manager = { fieldManager: "klutch-package-runtime", force: true } as const;
const pollMs = 400;

/** Runs revisions until the sandbox ends. */
export async function runPackageRuntime(context: SandboxContext, certificates: Certificates): Promise<void> {
  const { clusters, state, signal } = context;
  const { client } = clusters.controlPlane;
  const endpoint = `dns:///localhost:${state.ports.function}`;
  const active = async (type: core.ResourceType): Promise<readonly core.DynamicObject[]> =>
    (await client.list<core.DynamicObject>(type)).items.filter(
      ({ spec }) => core.textAt(spec, "desiredState") === "Active",
    );
  const serveAll = async (): Promise<void> => {
    for (const revision of await active(functionRevisions))
      await serveRevision(client, functionRevisions, revision, certificates, endpoint);
    for (const revision of await active(providerRevisions)) {
      await serveRevision(client, providerRevisions, revision, certificates, undefined);
      await applyStubDeployment(client, revision);
    }
  };
  while (!signal.aborted) {
    // A conflict or a server that is just starting: the next round repairs it.
    await serveAll().catch(() => undefined);
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
}

async function serveRevision(
  client: KubeClient,
  type: core.ResourceType,
  revision: core.DynamicObject,
  { functionServer }: Certificates,
  endpoint: string | undefined,
): Promise<void> {
  const { name = "", generation } = revision.metadata;
  const isHealthy = conditionOf(revision, "RuntimeHealthy") === "True";
  if (isHealthy && core.recordAt(revision.status)["endpoint"] === endpoint) return;
  const read = async (file: string) => [file, await readFile(join(functionServer, file), "utf8")] as const;
  const texts = Object.fromEntries(await Promise.all(["tls.crt", "tls.key", "ca.crt"].map(read)));
  const tlsServerSecretName = `${name}-tls`;
  await client.apply(core.secrets, secretObject(crossplaneNamespace, tlsServerSecretName, texts), manager);
  const condition = {
    type: "RuntimeHealthy",
    status: "True",
    reason: "HealthyPackageRevision",
    observedGeneration: generation,
    lastTransitionTime: core.wholeSeconds(systemClock.now()),
  };
  const { apiVersion, kind } = revision;
  const status = { tlsServerSecretName, endpoint, conditions: [condition] };
  const body = { apiVersion, kind, metadata: { name }, status };
  await client.apply(type, body, { ...manager, subresource: "status" });
}

async function applyStubDeployment(client: KubeClient, revision: core.DynamicObject): Promise<void> {
  const ref = { namespace: crossplaneNamespace, name: revision.metadata.name ?? "" };
  if ((await client.find(core.deployments, ref)) !== undefined) return;
  for (const stub of await shippedManifests("provider-stub", { NAME: ref.name, ACCOUNT: providerAccount })) {
    const ownerReferences = [core.controllerReference(revision)];
    const metadata = { ...stub.metadata, ownerReferences };
    await client.apply(core.deployments, { ...stub, metadata }, manager);
  }
}

/** Folders with `tls.crt`, `tls.key` and `ca.crt`. */
export interface Certificates {
  readonly functionServer: string;
  readonly crossplaneClient: string;
}

const days = 5 * 365;
const hosts = ["localhost", "127.0.0.1"];

/** Makes both certificates once; later starts take them as they are. */
export async function ensureCertificates(folder: string, now: Date): Promise<Certificates> {
  const functionServer = join(folder, "function");
  const crossplaneClient = join(folder, "crossplane-client");
  const folders = { functionServer, crossplaneClient };
  if (existsSync(join(crossplaneClient, "tls.crt"))) return folders;
  const authority = await createAuthority("klutch-sandbox", { now, days });
  const write = async (target: string, subject: Subject): Promise<void> => {
    const { certificate, key } = await authority.issue(subject, { now, days });
    await mkdir(target, { recursive: true });
    await writeFile(join(target, "ca.crt"), authority.certificate);
    await writeFile(join(target, "tls.key"), key.reveal(), { mode: 0o600 });
    await writeFile(join(target, "tls.crt"), certificate);
  };
  await write(functionServer, { use: "server", name: "function-klutch", hosts });
  await write(crossplaneClient, { use: "client", name: "crossplane-core", hosts });
  return folders;
}
