/** A real API server with a gateway over it, and tenants with rights in namespaces of their own. */
import { join } from "node:path";
import { apiServiceExports, bindCrds } from "@klutch/api";
import { type ClusterConfig, createKubeClient, type KubeClient } from "@klutch/kube";
import {
  clusterRoleBindings,
  clusterRoles,
  type DynamicObject,
  namespaces,
  type ObjectRef,
  type ResourceType,
  roleBindings,
  roles,
  serviceAccounts,
} from "@klutch/kube-core";
import { readServedCertificate, systemRuntime } from "@klutch/kube-runtime";
import {
  accountConfig,
  anyObject,
  crdObject,
  installKinds,
  leaseCluster,
  namespaceObject,
  objectOfType,
  roleBindingObject,
  roleObject,
  ruleOn,
  serviceAccountObject,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { createMetrics, type Metrics, silentLogger } from "@klutch/telemetry";
import { gatewayServer, type GatewayServerOptions } from "../server.ts";

const kindOf = (plural: string, kind: string, namespaced = true): ResourceType => ({
  group: "shop.example.com",
  version: "v1",
  plural,
  kind,
  namespaced,
});
/** Bound. */
export const widgets: ResourceType = kindOf("widgets", "Widget");
/** Served by the API server and not bound. */
export const gadgets: ResourceType = kindOf("gadgets", "Gadget");

/** A running gateway. */
export interface RunningGateway extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly metrics: Metrics;
  /** Value of a metric without labels, or with these as they are written. */
  readonly read: (sample: string) => Promise<number>;
}

/** The server and its tenants. */
export interface Stage extends AsyncDisposable {
  readonly cluster: TestCluster;
  /** Account of the gateway. */
  readonly account: ClusterConfig;
  /** Makes a namespace and an account with rights on widgets there, and gives back the way in past the gateway. */
  readonly tenant: (name: string) => Promise<ClusterConfig>;
}

const own: ObjectRef = { namespace: "gateway", name: "gateway" };
const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];

/** Leases a cluster and installs kinds and accounts. */
export async function startStage(): Promise<Stage> {
  const cluster = await leaseCluster({ name: "gateway" });
  const { client } = cluster;
  const properties = { spec: anyObject };
  await installKinds(client, [
    ...bindCrds,
    crdObject(widgets, { properties }),
    crdObject(gadgets, { properties }),
  ]);
  await client.create(namespaces, namespaceObject("gateway"));
  await client.create(serviceAccounts, serviceAccountObject(own));
  const reads = ["list", "watch"];
  const rules = [ruleOn(widgets, reads), ruleOn(apiServiceExports, reads)];
  await client.create(clusterRoles, roleObject({ name: "gateway" }, rules));
  const binding = roleBindingObject({ name: "gateway" }, { kind: "ClusterRole", name: "gateway" }, own);
  await client.create(clusterRoleBindings, binding);
  await client.create(apiServiceExports, exportObject("gateway"));
  return {
    cluster,
    account: await accountConfig(cluster, own),
    async tenant(name) {
      const ref = { namespace: name, name };
      await client.create(namespaces, namespaceObject(name));
      await client.create(serviceAccounts, serviceAccountObject(ref));
      await client.create(roles, roleObject(ref, [ruleOn(widgets, verbs), ruleOn(gadgets, verbs)]));
      await client.create(roleBindings, roleBindingObject(ref, { kind: "Role", name }, ref));
      return accountConfig(cluster, ref);
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** An export of widgets to one app cluster. */
function exportObject(namespace: string): DynamicObject {
  const schema = { openAPIV3Schema: { type: "object" } };
  return objectOfType(
    apiServiceExports,
    { namespace, name: `${widgets.plural}.${widgets.group}` },
    {
      spec: {
        group: widgets.group,
        names: { kind: widgets.kind, plural: widgets.plural },
        scope: "Namespaced",
        informerScope: "Namespaced",
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    },
  );
}

/** Starts a gateway; disposing it stops it in order. `exportsFrom`: URL at which it reads exports, by default the API server's own. */
export async function startGateway(
  { cluster, account }: Pick<Stage, "cluster" | "account">,
  {
    exportsFrom = account.server,
    ...options
  }: Partial<Pick<GatewayServerOptions, "bounds" | "limits" | "keepRightsMs" | "listen">> & {
    readonly exportsFrom?: string;
  } = {},
): Promise<RunningGateway> {
  const runtime = systemRuntime({ logger: silentLogger, metrics: createMetrics() });
  const client = createKubeClient({ ...account, server: exportsFrom }, { userAgent: "klutch-gateway" });
  const certs = join(cluster.dataDir, "certs");
  const listening = Promise.withResolvers<number>();
  const stop = new AbortController();
  const server = gatewayServer({
    runtime,
    cluster: account,
    client,
    listen: { host: "127.0.0.1", port: 0 },
    tls: await readServedCertificate({
      cert: join(certs, "apiserver.crt"),
      key: join(certs, "apiserver.key"),
    }),
    bounds: { maxBytes: 16 * 1024 * 1024, maxAgeMs: 300_000 },
    limits: {},
    ...options,
    onListening: listening.resolve,
  });
  const running = server.start({ signal: stop.signal });
  running.catch(listening.reject);
  const port = await listening.promise;
  const read = async (sample: string): Promise<number> => {
    const row = (await runtime.metrics.text()).split("\n").find((line) => line.startsWith(`${sample} `));
    return Number(row?.split(" ").at(-1) ?? 0);
  };
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    metrics: runtime.metrics,
    read,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test is over"));
      await running;
      await client[Symbol.asyncDispose]();
    },
  };
}

/** Returns a client of an account, through the gateway or past it. */
export function clientOf(config: ClusterConfig, gateway?: Pick<RunningGateway, "url">): KubeClient {
  const server = gateway?.url ?? config.server;
  return createKubeClient({ ...config, server }, { userAgent: "tenant", flowControl: false });
}

/** Waits until the gateway answers watches of widgets in a namespace from its cache. */
export async function untilShared(
  gateway: RunningGateway,
  client: KubeClient,
  namespace: string,
): Promise<void> {
  const lists = await gateway.read("klutch_gateway_lists_total");
  await waitFor("the gateway to answer from its cache", async () => {
    await client.list(widgets, { namespace, resourceVersion: "0" });
    return (await gateway.read("klutch_gateway_lists_total")) > lists;
  });
}

/** A widget. */
export function widget(namespace: string, name: string, spec: object = {}): DynamicObject {
  return objectOfType(widgets, { namespace, name }, { spec });
}
