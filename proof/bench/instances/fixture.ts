/**
 * A control plane with the provider's kinds, the sandbox's broker with its PostgreSQL, and the provider as it is shipped: one bundle, its
 * own account. Nearly all instances are in the broker's store only, so that 5 000 of them need no 5 000 databases; a broker at rest
 * looks into nothing else.
 */
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { konnectorRuntime, providerConfigs, providerCrds, serviceInstances } from "@klutch/api";
import { type RunningProcess, ownProgram, reservePorts, startPostgres, startProcess } from "@klutch/engines";
import type { KubeClient } from "@klutch/kube";
import { type DynamicObject, namespaces, secrets } from "@klutch/kube-core";
import {
  installKinds,
  namespaceObject,
  objectOfType,
  secretObject,
  startCluster,
  type TestCluster,
  samplesOf,
} from "@klutch/kube-testing";
import { createOsbClient } from "@klutch/osb";
import { Client } from "pg";
import { countedKubeconfig } from "../harness/tenant.ts";
import { buildBundle } from "../harness/agent-process.ts";
import { BenchApi } from "../harness/api.ts";

const namespace = "bench";
const configName = "postgresql-service-broker";
/** User and password of the broker. */
const login = "bench";
const serviceName = "a9s-postgresql17";
const planName = "postgresql-single-nano";

/** The programs and clients that the measurements work with. */
export interface Fixture extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly api: BenchApi;
  /** The broker's own database. */
  readonly store: Client;
  /** Plans of the broker by name. */
  readonly plans: ReadonlyMap<string, string>;
  /** Starts it; resolves when it is ready. */
  startProvider(): Promise<void>;
  /** The provider's process, once it was started. */
  readonly pid: () => number;
  /** Requests that the broker served until now. */
  readonly served: () => Promise<number>;
}

/** Starts all but the provider. */
export async function startFixture(): Promise<Fixture> {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await mkdtempDisposable(join(tmpdir(), "klutch-instances-")));
  const cluster = stack.use(await startCluster({ name: "provider", fsync: true }));
  const { ports } = stack.use(await reservePorts(3));
  const [listen = "", brokerProbe = "", providerProbe = ""] = ports.map((port) => `127.0.0.1:${port}`);
  const store = await startBroker(stack, folder, listen, brokerProbe);
  const url = `http://${listen}`;
  await using osb = createOsbClient({ url, auth: { kind: "basic", username: login, password: login } });
  const { services } = await osb.catalog();
  const plans = services.flatMap((service) => service.plans.map(({ name, id }) => [name, id] as const));
  await fill(cluster.client, url);
  const bundle = await buildBundle("provider-anynines", folder);
  const kubeconfig = join(folder, "provider.kubeconfig");
  const text = await countedKubeconfig(cluster, { namespace, name: "provider" });
  await writeFile(kubeconfig, text, { mode: 0o600 });
  const api = stack.use(new BenchApi(cluster.config));
  let provider: RunningProcess | undefined;
  stack.defer(async () => provider?.stop());
  return Object.assign(stack.move(), {
    cluster,
    api,
    store,
    plans: new Map(plans),
    async startProvider() {
      provider = await startProcess({
        name: "provider",
        command: process.execPath,
        args: [bundle, `--health-probe-bind-address=${providerProbe}`],
        env: { ...konnectorRuntime, KUBECONFIG: kubeconfig },
        logFile: join(folder, "provider.log"),
        ready: async () => (await fetch(`http://${providerProbe}/readyz`)).ok,
      });
    },
    pid: () => provider?.pid ?? 0,
    async served() {
      const text = await (await fetch(`http://${brokerProbe}/metrics`)).text();
      const samples = samplesOf(text, "klutch_broker_served_requests_total");
      return samples.reduce((sum, { value }) => sum + value, 0);
    },
  });
}

/** Returns a session in its database. */
async function startBroker(
  stack: AsyncDisposableStack,
  folder: string,
  listen: string,
  probeListen: string,
): Promise<Client> {
  const postgres = stack.use(await startPostgres());
  stack.use(
    await startProcess({
      name: "broker",
      command: process.execPath,
      args: [ownProgram("broker")],
      env: {
        BROKER_POSTGRES_URL: postgres.url,
        BROKER_USERNAME: login,
        BROKER_PASSWORD: login,
        BROKER_SECRET_KEY: "b".repeat(32),
        BROKER_LISTEN: listen,
        BROKER_PROBE_LISTEN: probeListen,
      },
      logFile: join(folder, "broker.log"),
      ready: async () => (await fetch(`http://${listen}/healthz`)).ok,
    }),
  );
  const own = new URL(postgres.url);
  own.pathname = "/klutch_broker";
  const store = new Client({ connectionString: own.href });
  await store.connect();
  stack.defer(() => store.end());
  return store;
}

/** Kinds, and the ProviderConfig of the broker. */
async function fill(client: KubeClient, url: string): Promise<void> {
  await installKinds(client, providerCrds);
  await client.create(namespaces, namespaceObject(namespace));
  await client.create(secrets, secretObject(namespace, "broker", { login }));
  const key = { secretRef: { namespace, name: "broker", key: "login" } };
  const spec = {
    url,
    serviceType: "servicebroker",
    healthCheckEndpoint: "/healthz",
    providerCredentials: { source: "Secret", username: key, password: key },
  };
  await client.create(providerConfigs, objectOfType(providerConfigs, { name: configName }, { spec }));
}

/** A managed instance of the smallest plan; with an id, of what the broker has under that id. */
export function instanceObject(name: string, id?: string): DynamicObject {
  const annotations = id === undefined ? {} : { "anynines.crossplane.io/instance-id": id };
  const forProvider = { serviceName, planName, organizationGuid: "o", spaceGuid: "s" };
  const spec = { providerConfigRef: { name: configName }, forProvider };
  return objectOfType(serviceInstances, { name, annotations }, { spec });
}

/** Puts instances into the broker's store, as they are after their database was made. */
export async function seedStore({ store, plans }: Fixture, ids: readonly string[]): Promise<void> {
  const text = `insert into public.instances (id, plan_id, parameters, operation, state)
    select id, $2, '{}', 'provision', 'succeeded' from unnest($1::text[]) as id`;
  await store.query(text, [ids, plans.get(planName)]);
}
