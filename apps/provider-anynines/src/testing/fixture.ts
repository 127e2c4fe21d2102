/** A control plane with the provider's kinds, the real broker with a real PostgreSQL, and a front before the broker. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  namespacedProviderConfigUsages,
  providerConfigUsages,
  providerCrds,
  serviceInstances,
} from "@klutch/api";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  type KubeObject,
  namespaces,
  type ObjectRef,
  recordAt,
  type ResourceType,
  secrets,
  textAt,
} from "@klutch/kube-core";
import type { ClusterConfig, KubeClient } from "@klutch/kube";
import { leaseCluster, waitFor } from "@klutch/kube-testing";
import type { Logger } from "@klutch/telemetry";
import { Client } from "pg";
import { type BrokerProcess, startBroker } from "./broker.ts";
import { type Front, startFront } from "./front.ts";
import { type Scope, scopes } from "../scope.ts";
import { refIn, team } from "./kinds.ts";
import { runProvider } from "./run-provider.ts";

/** A condition as tests read it. */
export interface SeenCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** The provider itself runs only between `run` and the call of what it returns. */
export interface Fixture extends AsyncDisposable {
  readonly client: KubeClient;
  /** Kubeconfig of the control plane, as text. */
  readonly kubeconfig: string;
  /** Address and credentials of the control plane. */
  readonly config: ClusterConfig;
  readonly broker: BrokerProcess;
  readonly front: Front;
  /** Runs the provider in this process until the returned function is called. */
  run(options?: RunOptions): () => Promise<void>;
  /** The kinds of one scope, with ProviderConfigs of the broker and of its backup manager. */
  install(scope: Scope): Promise<void>;
  /** The condition, when its status and message are as asked for. */
  condition(
    type: ResourceType,
    name: string,
    wanted: { readonly type: string; readonly status?: string; readonly message?: RegExp },
    timeoutMs?: number,
  ): Promise<SeenCondition>;
  gone(type: ResourceType, ref: ObjectRef): Promise<void>;
  /** Entries of the binding's Secret. */
  credentials(name: string): Promise<Readonly<Record<string, string>>>;
  /** Databases of instances that the server has. */
  databases(): Promise<readonly string[]>;
  sql(uri: string, statement: string): Promise<readonly unknown[]>;
  atProvider(type: ResourceType, name: string): Promise<Readonly<Record<string, unknown>>>;
}

/** Options of a provider process. */
export interface RunOptions {
  readonly pollIntervalMs?: number;
  readonly confirmLossMs?: number;
  /** Default: none. */
  readonly logger?: Logger | undefined;
}

export const configName = "postgresql-service-broker";
/** Name of the ProviderConfig of the same broker's backup manager. */
export const managerConfigName = "postgresql-backup-manager";

/** Options of a fixture. */
export interface FixtureOptions {
  /** True when the control plane has a controller manager, which collects garbage. Default false. */
  readonly controllerManager?: boolean | undefined;
  /** The scopes whose kinds are installed. Default: both. */
  readonly installed?: readonly Scope[] | undefined;
  /** True when the provider reaches the broker through `front`. Default true. */
  readonly throughFront?: boolean | undefined;
}

/** Starts all; takes some seconds. */
export async function startFixture(name: string, options: FixtureOptions = {}): Promise<Fixture> {
  const { controllerManager = false, installed = scopes, throughFront = true } = options;
  await using starting = new AsyncDisposableStack();
  const cluster = starting.use(await leaseCluster({ name, controllerManager }));
  const folder = await mkdtemp(join(tmpdir(), `klutch-${name}-`));
  starting.defer(() => rm(folder, { recursive: true, force: true }));
  const broker = starting.use(await startBroker(folder));
  const { postgres } = broker;
  const front = starting.use(await startFront(() => broker.port));
  const install = (scope: Scope): Promise<void> =>
    installScope(cluster.client, scope, throughFront ? front.port : broker.port);
  await fill(cluster.client);
  for (const scope of installed) await install(scope);
  const stack = starting.move();
  const sql = async (uri: string, statement: string): Promise<readonly unknown[]> => {
    const connected = new Client({ connectionString: uri });
    // A login that ends, or a server that stops, ends the session; the query that runs then says so.
    connected.on("error", () => undefined);
    await connected.connect();
    try {
      return (await connected.query<Readonly<Record<string, unknown>>>(statement)).rows;
    } finally {
      await connected.end();
    }
  };
  return {
    ...observers(cluster.client),
    client: cluster.client,
    kubeconfig: cluster.kubeconfig,
    config: cluster.config,
    broker,
    front,
    sql,
    install,
    run: (options) => runProvider({ client: cluster.client, pollIntervalMs: 300, workers: 4, ...options }),
    async databases() {
      const statement = "select datname from pg_database where datname ~ '^i[0-9a-f]{32}$' order by 1";
      return (await sql(postgres.url, statement)).map((row) => (isRecord(row) ? String(row["datname"]) : ""));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** A namespace, and the broker's credentials. */
async function fill(client: KubeClient): Promise<void> {
  await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: team } });
  await client.create<DynamicObject>(secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: team, name: "broker" },
    // Files and editors leave a line break at the end.
    data: { username: Buffer.from("u\n").toString("base64"), password: Buffer.from("p").toString("base64") },
  });
}

async function installScope(client: KubeClient, { configs, ...managed }: Scope, port: number): Promise<void> {
  const { group } = managed.instances;
  const crds = providerCrds.filter((crd) => textAt(crd, "spec", "group") === group);
  for (const crd of crds) await client.create<KubeObject>(customResourceDefinitions, crd);
  const usages = [providerConfigUsages, namespacedProviderConfigUsages].filter(
    (type) => type.group === group,
  );
  for (const type of [...Object.values<ResourceType>(managed), ...configs, ...usages])
    await waitFor(`${type.plural} to be served`, async () => (await client.list(type)) !== undefined);
  const url = `http://127.0.0.1:${port}`;
  const broker = { url, serviceType: "servicebroker", healthCheckEndpoint: "/healthz" };
  const manager = { url: `${url}/backup-manager`, serviceType: "backupmanager" };
  for (const type of configs.filter(({ namespaced }) => !namespaced)) {
    await client.create(type, config(type, configName, broker));
    await client.create(type, config(type, managerConfigName, manager));
  }
}

/** A ProviderConfig or ClusterProviderConfig. `secretNamespace`: where it says that its Secret is. */
export function config(
  type: ResourceType,
  name: string,
  spec: object,
  secretNamespace: string = team,
): DynamicObject {
  const key = (field: string): object => ({
    secretRef: { namespace: secretNamespace, name: "broker", key: field },
  });
  const providerCredentials = { source: "Secret", username: key("username"), password: key("password") };
  return {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: refIn(type, name),
    spec: { ...spec, providerCredentials },
  };
}

function observers(client: KubeClient): Pick<Fixture, "condition" | "gone" | "credentials" | "atProvider"> {
  const status = async (type: ResourceType, name: string): Promise<Readonly<Record<string, unknown>>> => {
    const { status: found } = await client.get<DynamicObject>(type, refIn(type, name));
    return recordAt(found);
  };
  return {
    condition: (type, name, wanted, timeoutMs) =>
      waitFor(
        `${type.kind} ${name} to be ${wanted.type}=${wanted.status ?? "any"} ${wanted.message?.source ?? ""}`,
        async () => {
          const all = seenConditionsOf(await status(type, name));
          const found = all.find((one) => one.type === wanted.type);
          const fits =
            found !== undefined &&
            (wanted.status === undefined || found.status === wanted.status) &&
            (wanted.message === undefined || wanted.message.test(found.message));
          if (!fits) throw new Error(JSON.stringify(all));
          return found;
        },
        { timeoutMs },
      ),
    async gone(type, ref) {
      await waitFor(
        `${type.kind} ${ref.name} to be gone`,
        async () => (await client.find(type, ref)) === undefined,
      );
    },
    async credentials(name) {
      const ref = { namespace: team, name: `${name}-creds` };
      const secret = await waitFor(`Secret ${ref.name}`, () => client.find<DynamicObject>(secrets, ref));
      const data = recordAt(secret, "data");
      const decoded = Object.entries(data).map(
        ([field, value]) => [field, Buffer.from(String(value), "base64").toString()] as const,
      );
      return Object.fromEntries(decoded);
    },
    async atProvider(type, name) {
      return recordAt(await status(type, name), "atProvider");
    },
  };
}

function seenConditionsOf(status: Readonly<Record<string, unknown>>): readonly SeenCondition[] {
  return conditionsOf({ status }).map(({ type, status: state, reason = "", message = "" }) => ({
    type,
    status: state,
    reason,
    message,
  }));
}

const labels = (name: string): Record<string, string> => ({
  "crossplane.io/claim-name": name,
  "crossplane.io/claim-namespace": team,
});

/** A ServiceInstance of the smallest plan. */
export function instance(name: string, forProvider: object = {}): DynamicObject {
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: { name, labels: labels(name) },
    spec: {
      providerConfigRef: { name: configName },
      forProvider: {
        serviceName: "a9s-postgresql17",
        planName: "postgresql-single-nano",
        organizationGuid: "o",
        spaceGuid: "s",
        ...forProvider,
      },
    },
  };
}

/** A ServiceBinding that writes `<name>-creds`. */
export function binding(name: string, instanceName: string, type = "postgresql"): DynamicObject {
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceBinding",
    metadata: { name, labels: { ...labels(name), "klutch.io/instance-type": type } },
    spec: {
      providerConfigRef: { name: `${type}-service-broker` },
      forProvider: { instanceName, acceptsIncomplete: true },
      writeConnectionSecretToRef: { namespace: team, name: `${name}-creds` },
    },
  };
}

/** A Backup of the instance. */
export function backup(name: string, instanceName: string): DynamicObject {
  return atManager("Backup", name, { instanceName });
}

/** A Restore of the backup. */
export function restore(name: string, backupName: string): DynamicObject {
  return atManager("Restore", name, { backupName });
}

function atManager(kind: string, name: string, forProvider: object): DynamicObject {
  return {
    apiVersion: "dataservices.anynines.com/v1",
    kind,
    metadata: { name, labels: labels(name) },
    spec: { providerConfigRef: { name: managerConfigName }, forProvider },
  };
}

/** Changes fields under `spec.forProvider`; null removes one. */
export async function edit(fixture: Fixture, name: string, forProvider: object): Promise<void> {
  await fixture.client.mergePatch(serviceInstances, { name }, { spec: { forProvider } });
}
