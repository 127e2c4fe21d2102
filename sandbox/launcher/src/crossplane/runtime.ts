/**
 * The runtime controller that `--package-runtime=External` leaves to others: for each active revision a TLS
 * Secret, and in its status that the runtime is healthy and, for a function, where it listens. For the provider also a Deployment
 * without replicas, from which the RBAC manager learns the provider's service account.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { packageType } from "@klutch/api";
import { type KubeClient, systemClock } from "@klutch/kube";
import {
  controllerReference,
  deployments,
  type DynamicObject,
  recordAt,
  type ResourceType,
  secrets,
  textAt,
  wholeSeconds,
} from "@klutch/kube-core";
import { secretObject } from "@klutch/kube-testing";
import type { CertificateFolders } from "../certificates.ts";
import { crossplaneNamespace, type SandboxContext } from "../context.ts";
import { conditionOf, shippedManifests } from "../objects.ts";

/** Service account of the provider's process. */
export const providerAccount = "provider-anynines";

const functionRevisions = packageType("FunctionRevision", "functionrevisions");
const providerRevisions = packageType("ProviderRevision", "providerrevisions");
const manager = { fieldManager: "klutch-package-runtime", force: true } as const;
const pollMs = 400;

/** Runs revisions until the sandbox ends. */
export async function runPackageRuntime(
  { clusters, state, signal }: SandboxContext,
  certificates: CertificateFolders,
): Promise<void> {
  const { client } = clusters.controlPlane;
  const endpoint = `dns:///localhost:${state.ports.function}`;
  const active = async (type: ResourceType): Promise<readonly DynamicObject[]> =>
    (await client.list<DynamicObject>(type)).items.filter(
      ({ spec }) => textAt(spec, "desiredState") === "Active",
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
  type: ResourceType,
  revision: DynamicObject,
  { functionServer }: CertificateFolders,
  endpoint: string | undefined,
): Promise<void> {
  const { name = "", generation } = revision.metadata;
  const isHealthy = conditionOf(revision, "RuntimeHealthy") === "True";
  if (isHealthy && recordAt(revision.status)["endpoint"] === endpoint) return;
  const read = async (file: string) => [file, await readFile(join(functionServer, file), "utf8")] as const;
  const texts = Object.fromEntries(await Promise.all(["tls.crt", "tls.key", "ca.crt"].map(read)));
  const tlsServerSecretName = `${name}-tls`;
  await client.apply(secrets, secretObject(crossplaneNamespace, tlsServerSecretName, texts), manager);
  const condition = {
    type: "RuntimeHealthy",
    status: "True",
    reason: "HealthyPackageRevision",
    observedGeneration: generation,
    lastTransitionTime: wholeSeconds(systemClock.now()),
  };
  const { apiVersion, kind } = revision;
  const status = { tlsServerSecretName, endpoint, conditions: [condition] };
  const body = { apiVersion, kind, metadata: { name }, status };
  await client.apply(type, body, { ...manager, subresource: "status" });
}

async function applyStubDeployment(client: KubeClient, revision: DynamicObject): Promise<void> {
  const ref = { namespace: crossplaneNamespace, name: revision.metadata.name ?? "" };
  if ((await client.find(deployments, ref)) !== undefined) return;
  for (const stub of await shippedManifests("provider-stub", { NAME: ref.name, ACCOUNT: providerAccount })) {
    const ownerReferences = [controllerReference(revision)];
    await client.apply(deployments, { ...stub, metadata: { ...stub.metadata, ownerReferences } }, manager);
  }
}
