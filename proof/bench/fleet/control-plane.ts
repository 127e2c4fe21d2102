/** The fleet's control plane: the real servers with fsync and the garbage collection that they ship with, and the backend as a process. */
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  aggregateToBackendLabel,
  apiServiceExportRequests,
  apiServiceExportTemplates,
  backendClaimsRoleName,
  bindCrds,
  offerRules,
} from "@klutch/api";
import { ownProgram } from "@klutch/engines";
import { decodeObject, formatKubeconfig, parseYamlDocuments } from "@klutch/kube";
import { clusterRoles, type DynamicObject, type KubeObject } from "@klutch/kube-core";
import {
  accountConfig,
  applyPolicies,
  type BackendProcess,
  installKinds,
  installRights,
  objectOfType,
  type OwnCluster,
  startBackendProcess,
  startCluster,
} from "@klutch/kube-testing";
import { logIn, tenantKubeconfig } from "../../e2e/security/bound-fixture.ts";
import { type Stopwatch, startFollowing, startStopwatch } from "../harness/stopwatch.ts";
import { type FleetKind, hasStatus, probePrefix, providerSecrets, timedKind } from "./kinds.ts";

/** Its scope of rights and informers, as the backend's flag `--consumer-scope` has it. */
export type FleetScope = "Namespaced" | "Cluster";

/** The running control plane. */
export interface FleetControlPlane extends AsyncDisposable {
  readonly cluster: OwnCluster;
  /** The backend that runs now. */
  readonly backend: BackendProcess;
  /** Sees the claims of the timed kind. */
  readonly upstream: Stopwatch;
  /** Makes a tenant to which all kinds are exported; gives back its kubeconfig. */
  bind(tenant: string): Promise<string>;
  /** Kills the backend and starts another; resolves when that is ready. */
  restartBackend(): Promise<void>;
}

const tree = join(import.meta.dirname, "..", "..", "..");
const account = { namespace: "klutch-backend", name: "klutch-backend" };

/** Starts it with these kinds on offer. A status is written to each claim of the timed kind whose name says that it is a probe. */
export async function startControlPlane(
  kinds: readonly FleetKind[],
  scope: FleetScope,
): Promise<FleetControlPlane> {
  await using stack = new AsyncDisposableStack();
  // A cluster with a folder collects its garbage as one in production does: the figures of memory depend on it.
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-fleet-"))).path;
  const cluster = stack.use(
    await startCluster({ name: "fleet", controllerManager: true, fsync: true, dataDir: folder }),
  );
  const { client } = cluster;
  await installKinds(client, [...bindCrds, ...kinds.map(({ crd }) => crd)]);
  await installShipped(cluster);
  await offer(cluster, kinds);
  const kubeconfig = formatKubeconfig(await accountConfig(cluster, account));
  const flags = ["--control-plane-mode", `--consumer-scope=${scope}`];
  const start = (): Promise<BackendProcess> =>
    startBackendProcess(cluster, { program: ownProgram("backend"), kubeconfig, servesLogin: false, flags });
  let backend = await start();
  stack.defer(() => backend.kill());
  const upstream = stack.use(await startStopwatch(client, timedKind.type));
  stack.use(await answerProbes(cluster));
  return Object.assign(stack.move(), {
    cluster,
    get backend() {
      return backend;
    },
    upstream,
    async bind(tenant: string) {
      await logIn(client, tenant);
      for (const kind of kinds) await client.create(apiServiceExportRequests, requestOf(tenant, kind));
      return await tenantKubeconfig(cluster, tenant);
    },
    async restartBackend() {
      await backend.kill();
      backend = await start();
    },
  });
}

/** Plays the provider: writes a status to each probe once. */
function answerProbes({ client }: OwnCluster): Promise<AsyncDisposable> {
  const answer = async ({ metadata: { namespace = "", name = "" } }: DynamicObject): Promise<void> => {
    const patch = { status: { message: "done" } };
    await client.mergePatch(timedKind.type, { namespace, name }, patch, { subresource: "status" });
  };
  return startFollowing(client, timedKind.type, {
    onChange(kind, object) {
      if (kind === "ADDED" && object.metadata.name?.startsWith(probePrefix) === true && !hasStatus(object))
        answer(object).catch((error: unknown) => console.error(`a probe's status: ${String(error)}`));
    },
  });
}

function requestOf(namespace: string, { crdName: name, type }: FleetKind): DynamicObject {
  const spec = { resources: [{ group: type.group, resource: type.plural }] };
  return objectOfType(apiServiceExportRequests, { namespace, name }, { spec });
}

async function installShipped({ client }: OwnCluster): Promise<void> {
  const shipped: KubeObject[] = [];
  for (const name of ["backend-rbac.yaml", "control-plane-mode.yaml"])
    for (const object of parseYamlDocuments(await readFile(join(tree, "deploy", name), "utf8")))
      shipped.push(decodeObject<KubeObject>(object, name));
  await installRights(client, shipped);
  await applyPolicies(
    client,
    shipped.filter(({ kind }) => kind.startsWith("Validating")),
  );
}

async function offer({ client }: OwnCluster, kinds: readonly FleetKind[]): Promise<void> {
  const specs = kinds.map(({ type }) => ({
    APIServiceSelector: { group: type.group, resource: type.plural },
    permissionClaims: [providerSecrets],
  }));
  for (const [index, spec] of specs.entries()) {
    const metadata = { namespace: "default", name: `things${index}` };
    await client.create(apiServiceExportTemplates, objectOfType(apiServiceExportTemplates, metadata, { spec }));
  }
  const metadata = { name: `${backendClaimsRoleName}-fleet`, labels: { [aggregateToBackendLabel]: "true" } };
  const rules = offerRules(specs.map((spec) => ({ spec })));
  await client.create(clusterRoles, objectOfType(clusterRoles, metadata, { rules }));
}
