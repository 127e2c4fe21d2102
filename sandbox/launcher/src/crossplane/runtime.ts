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
  isRecord,
  recordAt,
  type ResourceType,
  secrets,
  wholeSeconds,
} from "@klutch/kube-core";
import type { CertificateFolders } from "../certificates.ts";
import { crossplaneNamespace, type SandboxContext } from "../context.ts";
import { conditionOf } from "../objects.ts";

/** Service account of the provider's process. */
export const providerAccount = "provider-anynines";

const functionRevisions = packageType("FunctionRevision", "functionrevisions");
const providerRevisions = packageType("ProviderRevision", "providerrevisions");
const manager = { fieldManager: "klutch-package-runtime", force: true } as const;
const pollMs = 400;

/** Runs revisions until the sandbox ends. */
export function runPackageRuntime(context: SandboxContext, certificates: CertificateFolders): Promise<void> {
  return loop(context, async () => {
    const { client } = context.clusters.controlPlane;
    const endpoint = `dns:///localhost:${context.state.ports.function}`;
    for (const revision of (await client.list<DynamicObject>(functionRevisions)).items) {
      await serveRevision(client, functionRevisions, revision, certificates, endpoint);
    }
    for (const revision of (await client.list<DynamicObject>(providerRevisions)).items) {
      await serveRevision(client, providerRevisions, revision, certificates, undefined);
      if (isActive(revision)) await applyStubDeployment(client, revision);
    }
  });
}

async function loop(context: SandboxContext, once: () => Promise<void>): Promise<void> {
  while (!context.signal.aborted) {
    // A conflict or a server that is just starting: the next round repairs it.
    await once().catch(() => undefined);
    await sleep(pollMs, undefined, { signal: context.signal }).catch(() => undefined);
  }
}

function isActive(revision: DynamicObject): boolean {
  return isRecord(revision.spec) && revision.spec["desiredState"] === "Active";
}

async function serveRevision(
  client: KubeClient,
  type: ResourceType,
  revision: DynamicObject,
  certificates: CertificateFolders,
  endpoint: string | undefined,
): Promise<void> {
  const { name = "", generation } = revision.metadata;
  const status = recordAt(revision.status);
  if (!isActive(revision)) return;
  if (conditionOf(revision, "RuntimeHealthy") === "True" && status["endpoint"] === endpoint) return;
  const secretName = `${name}-tls`;
  const read = async (file: string): Promise<string> =>
    (await readFile(join(certificates.functionServer, file))).toString("base64");
  const [certificate, key, authority] = await Promise.all([read("tls.crt"), read("tls.key"), read("ca.crt")]);
  const secret: DynamicObject = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: crossplaneNamespace, name: secretName },
    data: { "tls.crt": certificate, "tls.key": key, "ca.crt": authority },
  };
  await client.apply(secrets, secret, manager);
  const condition = {
    type: "RuntimeHealthy",
    status: "True",
    reason: "HealthyPackageRevision",
    observedGeneration: generation,
    lastTransitionTime: wholeSeconds(systemClock.now()),
  };
  const body: DynamicObject = {
    apiVersion: revision.apiVersion,
    kind: revision.kind,
    metadata: { name },
    status: { tlsServerSecretName: secretName, endpoint, conditions: [condition] },
  };
  await client.apply(type, body, { ...manager, subresource: "status" });
}

async function applyStubDeployment(client: KubeClient, revision: DynamicObject): Promise<void> {
  const { name = "" } = revision.metadata;
  if ((await client.find(deployments, { namespace: crossplaneNamespace, name })) !== undefined) return;
  const labels = { "pkg.crossplane.io/revision": name };
  const object: DynamicObject = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      namespace: crossplaneNamespace,
      name,
      ownerReferences: [controllerReference(revision)],
    },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: providerAccount,
          containers: [{ name: "package-runtime", image: "runs-as-a-process" }],
        },
      },
    },
  };
  await client.apply(deployments, object, manager);
}
