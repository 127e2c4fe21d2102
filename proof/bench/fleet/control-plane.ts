/** The fleet's control plane: the real servers with fsync and the garbage collection that they ship with, and the backend as a process. */
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  aggregateToBackendLabel,
  apiServiceExportRequests,
  apiServiceExports,
  apiServiceExportTemplates,
  apiServiceNamespaces,
  backendClaimsRoleName,
  bindCrds,
  clusterBindings,
  offerRules,
} from "@klutch/api";
import { ownProgram } from "@klutch/engines";
import { decodeObject, formatKubeconfig, parseYamlDocuments } from "@klutch/kube";
import { clusterRoles, type DynamicObject, type KubeObject } from "@klutch/kube-core";
import {
  accountConfig,
  applyPolicies,
  type BackendProcess,
  followObjects,
  type GatewayProcess,
  installKinds,
  installRights,
  objectOfType,
  type OwnCluster,
  startBackendProcess,
  startCluster,
  startGatewayProcess,
} from "@klutch/kube-testing";
import { logIn, tenantKubeconfig } from "../../e2e/security/bound-fixture.ts";
import { type FleetKind, hasStatus, probePrefix, providerSecrets, timedKind } from "./kinds.ts";

/** Its scope of rights and informers, as the backend's flag `--consumer-scope` has it. */
export type FleetScope = "Namespaced" | "Cluster";

/** The running control plane. */
export interface FleetControlPlane extends AsyncDisposable {
  readonly cluster: OwnCluster;
  /** The backend that runs now. */
  readonly backend: BackendProcess;
  /** Stands between agents and API server; undefined without one. */
  readonly gateway: GatewayProcess | undefined;
  /** The URL that agents have. */
  readonly url: string;
  /** Makes a tenant to which all kinds are exported; gives back its kubeconfig. */
  bind(tenant: string): Promise<string>;
  /** Kills the backend and starts another, with these variables; resolves when that is ready. */
  restartBackend(env?: Readonly<Record<string, string>>): Promise<void>;
}

const tree = join(import.meta.dirname, "..", "..", "..");
const account = { namespace: "klutch-backend", name: "klutch-backend" };

/**
 * Starts it with these kinds on offer. A status is written to each claim of the timed kind whose name says that it is a probe. `checkout` is
 * the folder of the backend's sources; rights and policies are always those of this tree. `isGated`: app clusters get a gateway's address.
 */
export async function startControlPlane(
  kinds: readonly FleetKind[],
  scope: FleetScope,
  {
    checkout = tree,
    isGated = false,
  }: { readonly checkout?: string | undefined; readonly isGated?: boolean } = {},
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
  const followed = [
    apiServiceExports,
    apiServiceNamespaces,
    clusterBindings,
    ...kinds.map(({ type }) => type),
  ];
  const gateway = isGated ? stack.use(await startGatewayProcess(cluster, { kinds: followed })) : undefined;
  const url = gateway?.url ?? cluster.url;
  const kubeconfig = formatKubeconfig(await accountConfig(cluster, account));
  const flags = [
    `--external-address=${url}`,
    "--control-plane-mode",
    `--consumer-scope=${scope}`,
    ...(checkout === tree ? [] : ["--bind-authorization=everyone"]),
  ];
  const program =
    checkout === tree ? ownProgram("backend") : join(checkout, "apps", "backend", "src", "main.ts");
  const start = (env?: Readonly<Record<string, string>>): Promise<BackendProcess> =>
    startBackendProcess(cluster, { program, kubeconfig, servesLogin: false, flags, env });
  let backend = await start();
  stack.defer(() => backend.kill());
  stack.use(answerProbes(cluster));
  const owned = stack.move();
  return {
    cluster,
    gateway,
    url,
    get backend() {
      return backend;
    },
    async bind(tenant: string) {
      // Behind the requests of all that came at the same time.
      await logIn(client, tenant, 600_000);
      for (const kind of kinds) await client.create(apiServiceExportRequests, requestOf(tenant, kind));
      return await tenantKubeconfig(cluster, tenant, url);
    },
    async restartBackend(env) {
      await backend.kill();
      backend = await start(env);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Plays the provider: writes a status to each probe once, also after the API server was away. */
function answerProbes({ client }: OwnCluster): AsyncDisposable {
  const abort = new AbortController();
  const answer = async ({ metadata: { namespace = "", name = "" } }: DynamicObject): Promise<void> => {
    const patch = { status: { message: "done" } };
    await client.mergePatch(timedKind.type, { namespace, name }, patch, { subresource: "status" });
  };
  const following = followObjects(client, timedKind.type, {
    signal: abort.signal,
    onChange(kind, object) {
      if (kind === "ADDED" && object.metadata.name?.startsWith(probePrefix) === true && !hasStatus(object))
        answer(object).catch((error: unknown) => console.error(`a probe's status: ${String(error)}`));
    },
  });
  return {
    async [Symbol.asyncDispose]() {
      abort.abort();
      await following;
    },
  };
}

/** Returns the request of a tenant for a kind. */
export function requestOf(namespace: string, { crdName: name, type }: FleetKind): DynamicObject {
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
    await client.create(
      apiServiceExportTemplates,
      objectOfType(apiServiceExportTemplates, metadata, { spec }),
    );
  }
  const metadata = { name: `${backendClaimsRoleName}-fleet`, labels: { [aggregateToBackendLabel]: "true" } };
  const rules = offerRules(specs.map((spec) => ({ spec })));
  await client.create(clusterRoles, objectOfType(clusterRoles, metadata, { rules }));
}
