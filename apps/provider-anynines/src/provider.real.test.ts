import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { after, test } from "node:test";
import {
  managedServiceBindings,
  providerConfigs,
  providerConfigUsages,
  providerCrds,
  serviceInstances,
} from "@klutch/api";
import {
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  type KubeObject,
  namespaces,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import { startPostgres, startProcess } from "@klutch/engines";
import { metricNames, startCluster, waitFor } from "@klutch/kube-testing";
import { metricsOf } from "@klutch/telemetry";
import { Client } from "pg";
import { runProvider } from "./testing/run-provider.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const cluster = stack.use(await startCluster({ name: "provider", controllerManager: true }));
const postgres = stack.use(await startPostgres());
const folder = await mkdtemp(join(tmpdir(), "klutch-provider-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const { client } = cluster;

const brokerMain = join(import.meta.dirname, "../../broker/src/main.ts");
const brokerEnv = {
  BROKER_POSTGRES_URL: postgres.url,
  BROKER_USERNAME: "u",
  BROKER_PASSWORD: "p",
  BROKER_SECRET_KEY: "0123456789abcdef0123456789abcdef",
};
let brokerPort = 0;
let brokerProbe = 0;
let providerProbe = 0;

/** The real broker as its own process, so that it can be killed. */
async function startBroker(): Promise<Awaited<ReturnType<typeof startProcess>>> {
  const child = await startProcess({
    name: "broker",
    command: process.execPath,
    args: [brokerMain],
    env: {
      ...brokerEnv,
      BROKER_LISTEN: `127.0.0.1:${brokerPort}`,
      BROKER_PROBE_LISTEN: `127.0.0.1:${brokerProbe}`,
    },
    logFile: join(folder, "broker.log"),
    ready: async () => (await fetch(`http://127.0.0.1:${brokerPort}/healthz`)).ok,
  });
  return stack.use(child);
}

const { reservePorts } = await import("@klutch/engines");
[brokerPort = 0, brokerProbe = 0, providerProbe = 0] = stack.use(await reservePorts(3)).ports;
let broker = await startBroker();

for (const crd of providerCrds) await client.create<KubeObject>(customResourceDefinitions, crd);
for (const type of [serviceInstances, managedServiceBindings, providerConfigs, providerConfigUsages]) {
  await waitFor(`${type.plural} to be served`, async () => (await client.list(type)) !== undefined);
}
await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
await client.create<DynamicObject>(secrets, {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "team", name: "broker" },
  data: { username: Buffer.from("u\n").toString("base64"), password: Buffer.from("p").toString("base64") },
});
const key = (name: string): object => ({ secretRef: { namespace: "team", name: "broker", key: name } });
await client.create<DynamicObject>(providerConfigs, {
  apiVersion: "dataservices.anynines.com/v1",
  kind: "ProviderConfig",
  metadata: { name: "postgresql-service-broker" },
  spec: {
    url: `http://127.0.0.1:${brokerPort}`,
    serviceType: "servicebroker",
    healthCheckEndpoint: "/healthz",
    providerCredentials: { source: "Secret", username: key("username"), password: key("password") },
  },
});

/** Runs the provider in this process until the returned function is called. */
function run(): () => Promise<void> {
  return runProvider({ client, pollIntervalMs: 500, workers: 4 });
}

const labels = (name: string): Record<string, string> => ({
  "crossplane.io/claim-name": name,
  "crossplane.io/claim-namespace": "team",
});
const instance = (name: string, forProvider: object = {}): DynamicObject => ({
  apiVersion: "dataservices.anynines.com/v1",
  kind: "ServiceInstance",
  metadata: { name, labels: labels(name) },
  spec: {
    providerConfigRef: { name: "postgresql-service-broker" },
    forProvider: {
      serviceName: "a9s-postgresql17",
      planName: "postgresql-single-nano",
      organizationGuid: "o",
      spaceGuid: "s",
      ...forProvider,
    },
  },
});
const binding = (name: string, instanceName: string): DynamicObject => ({
  apiVersion: "dataservices.anynines.com/v1",
  kind: "ServiceBinding",
  metadata: { name, labels: { ...labels(name), "klutch.io/instance-type": "postgresql" } },
  spec: {
    providerConfigRef: { name: "postgresql-service-broker" },
    forProvider: { instanceName, acceptsIncomplete: true },
    writeConnectionSecretToRef: { namespace: "team", name: `${name}-creds` },
  },
});

interface Status {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly message?: string;
  }[];
  readonly atProvider?: Readonly<Record<string, unknown>>;
}

async function statusOf(type: ResourceType, name: string): Promise<Status> {
  return ((await client.get<DynamicObject>(type, { name })).status ?? {}) as Status;
}

async function condition(type: ResourceType, name: string, kind: string, status: string): Promise<string> {
  return waitFor(`${type.kind} ${name} to be ${kind}=${status}`, async () => {
    const { conditions = [] } = await statusOf(type, name);
    const found = conditions.find((one) => one.type === kind && one.status === status);
    return found === undefined ? undefined : `.${found.message ?? ""}`;
  });
}

async function gone(type: ResourceType, ref: { name: string; namespace?: string }): Promise<void> {
  await waitFor(
    `${type.kind} ${ref.name} to be gone`,
    async () => (await client.find(type, ref)) === undefined,
  );
}

async function connection(name: string): Promise<Record<string, string>> {
  const secret = await waitFor(`Secret ${name}-creds`, () =>
    client.find<DynamicObject>(secrets, { namespace: "team", name: `${name}-creds` }),
  );
  const data = secret["data"];
  assert.ok(isRecord(data));
  return Object.fromEntries(
    Object.entries(data).map(([field, value]) => [field, Buffer.from(String(value), "base64").toString()]),
  );
}

async function sql(uri: string, statement: string): Promise<unknown> {
  const connected = new Client({ connectionString: uri });
  await connected.connect();
  try {
    return (await connected.query(statement)).rows;
  } finally {
    await connected.end();
  }
}

const databases = async (): Promise<unknown> =>
  sql(postgres.url, "select datname from pg_database where datname ~ '^i[0-9a-f]{32}$'");

test("instance and binding live their whole life; nothing is left at the broker", async () => {
  const stop = run();
  try {
    await client.create(serviceInstances, instance("one"));
    await client.create(managedServiceBindings, binding("one-b", "one"));
    await condition(serviceInstances, "one", "Ready", "True");
    await condition(managedServiceBindings, "one-b", "Ready", "True");
    const credentials = await connection("one-b");
    assert.deepEqual(Object.keys(credentials).toSorted(), [
      "host",
      "hosts",
      "name",
      "password",
      "port",
      "uri",
      "username",
    ]);
    assert.deepEqual(await sql(credentials["uri"] ?? "", "select 1 as one"), [{ one: 1 }]);
    const { atProvider } = await statusOf(managedServiceBindings, "one-b");
    assert.deepEqual(atProvider?.["connectionDetails"], [
      { hostURL: "127.0.0.1", port: String(postgres.port), label: "SQL" },
    ]);
    await client.delete(serviceInstances, { name: "one" });
    assert.match(
      await condition(serviceInstances, "one", "Synced", "False"),
      /still bound by one-b; delete these ServiceBindings first/,
    );
    await client.delete(managedServiceBindings, { name: "one-b" });
    await gone(managedServiceBindings, { name: "one-b" });
    await gone(serviceInstances, { name: "one" });
    await gone(secrets, { namespace: "team", name: "one-b-creds" });
    assert.deepEqual(await databases(), []);
    // The collector looks for new kinds every half minute.
    await waitFor(
      "usages to be collected",
      async () => (await client.list(providerConfigUsages)).items.length === 0,
      { timeoutMs: 90_000 },
    );
    await assert.rejects(sql(credentials["uri"] ?? "", "select 1"));
  } finally {
    await stop();
  }
});

test("a resource at rest causes no write, also with parameters and defaults", async () => {
  const stop = run();
  try {
    await client.create(
      serviceInstances,
      instance("rest", { parameters: { work_mem: "4MB" }, context: { a: "b" } }),
    );
    await condition(serviceInstances, "rest", "Ready", "True");
    const settled = await waitFor("the object to settle", async () => {
      const first = (await client.get(serviceInstances, { name: "rest" })).metadata.resourceVersion;
      await new Promise((resolve) => setTimeout(resolve, 1200));
      const second = (await client.get(serviceInstances, { name: "rest" })).metadata.resourceVersion;
      return first === second ? second : undefined;
    });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.equal((await client.get(serviceInstances, { name: "rest" })).metadata.resourceVersion, settled);
    await client.mergePatch(
      serviceInstances,
      { name: "rest" },
      { spec: { forProvider: { parameters: { work_mem: "8MB" } } } },
    );
    await waitFor("the new parameter at the broker", async () => {
      const { atProvider } = await statusOf(serviceInstances, "rest");
      return isRecord(atProvider?.["parameters"]) && atProvider["parameters"]["work_mem"] === "8MB";
    });
    await client.delete(serviceInstances, { name: "rest" });
    await gone(serviceInstances, { name: "rest" });
  } finally {
    await stop();
  }
});

test("a Secret that was deleted comes back with the same working credentials", async () => {
  const stop = run();
  try {
    await client.create(serviceInstances, instance("heal"));
    await client.create(managedServiceBindings, binding("heal-b", "heal"));
    await condition(managedServiceBindings, "heal-b", "Ready", "True");
    const before = await connection("heal-b");
    await client.delete(secrets, { namespace: "team", name: "heal-b-creds" });
    assert.deepEqual(await connection("heal-b"), before);
  } finally {
    await stop();
  }
});

test("while the broker is down nothing is forgotten, and deletion goes on when it is back", async () => {
  await broker.kill();
  const stop = run();
  try {
    await client.delete(managedServiceBindings, { name: "heal-b" });
    const message = await condition(managedServiceBindings, "heal-b", "Synced", "False");
    assert.match(
      message,
      /(observe|delete) failed: the broker cannot be reached|the connection to the broker broke/,
    );
    assert.ok(await client.find(managedServiceBindings, { name: "heal-b" }));
    broker = await startBroker();
    await gone(managedServiceBindings, { name: "heal-b" });
    await client.delete(serviceInstances, { name: "heal" });
    await gone(serviceInstances, { name: "heal" });
    assert.deepEqual(await databases(), []);
  } finally {
    await stop();
  }
});

test("the broker's refusal and unknown names stand word for word in the condition, and the object can be deleted", async () => {
  const stop = run();
  try {
    await client.create(serviceInstances, instance("bad", { parameters: { wal_level_logical: true } }));
    assert.match(
      await condition(serviceInstances, "bad", "Synced", "False"),
      /create failed: InvalidParameters: parameters\.wal_level_logical is not supported by this broker/,
    );
    await client.create(serviceInstances, instance("worse", { planName: "postgresql-huge" }));
    assert.match(
      await condition(serviceInstances, "worse", "Synced", "False"),
      /no entry for the plan name "postgresql-huge"; a9s-postgresql17 has: postgresql-single-nano/,
    );
    for (const name of ["bad", "worse"]) {
      await client.delete(serviceInstances, { name });
      await gone(serviceInstances, { name });
    }
  } finally {
    await stop();
  }
});

test("a provider that is killed at any time neither doubles nor forgets an instance", async () => {
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  await client.create(serviceInstances, instance("crash"));
  await client.create(managedServiceBindings, binding("crash-b", "crash"));
  for (const delayMs of [350, 450, 550, 650, 800]) {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, "main.ts"), "--poll=1s", "--health-probe-bind-address=127.0.0.1:0"],
      {
        env: { ...process.env, KUBECONFIG: kubeconfig },
        stdio: "ignore",
      },
    );
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  const stop = run();
  try {
    await condition(serviceInstances, "crash", "Ready", "True");
    await condition(managedServiceBindings, "crash-b", "Ready", "True");
    assert.equal(((await databases()) as unknown[]).length, 1);
    assert.deepEqual(await sql((await connection("crash-b"))["uri"] ?? "", "select 1 as one"), [{ one: 1 }]);
    await client.delete(managedServiceBindings, { name: "crash-b" });
    await client.delete(serviceInstances, { name: "crash" });
    await gone(serviceInstances, { name: "crash" });
    assert.deepEqual(await databases(), []);
  } finally {
    await stop();
  }
});

test("the health of the backend stands in the ProviderConfig", async () => {
  const stop = run();
  try {
    await waitFor("the ProviderConfig to be healthy", async () => {
      const { status } = await client.get<DynamicObject>(providerConfigs, {
        name: "postgresql-service-broker",
      });
      return isRecord(status) && isRecord(status["health"]) && status["health"]["lastStatus"] === true;
    });
  } finally {
    await stop();
  }
});

test("the processes of provider and broker have the metrics of the catalogue", async () => {
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  const address = `127.0.0.1:${providerProbe}`;
  const flags = ["--leader-election", "--namespace=default", `--health-probe-bind-address=${address}`];
  await using provider = await startProcess({
    name: "provider",
    command: process.execPath,
    args: [join(import.meta.dirname, "main.ts"), "--poll=1s", ...flags],
    env: { KUBECONFIG: kubeconfig },
    logFile: join(folder, "provider.log"),
    ready: async () => (await fetch(`http://${address}/readyz`)).ok,
  });
  const scrape = async (where: string): Promise<string> => (await fetch(`http://${where}/metrics`)).text();
  await client.create(serviceInstances, instance("counted"));
  await condition(serviceInstances, "counted", "Ready", "True");
  const ofProvider = await scrape(address);
  const ofBroker = await scrape(`127.0.0.1:${brokerProbe}`);
  for (const [process, text] of [
    ["provider-anynines", ofProvider],
    ["broker", ofBroker],
  ] as const) {
    const declared = metricsOf(process).map(({ name }) => name);
    assert.deepEqual(metricNames(text), declared.toSorted());
  }
  assert.match(ofProvider, /^leader_election_master_status\{name="crossplane-\S+"\} 1$/m);
  assert.match(ofProvider, /^klutch_broker_requests_total\{operation="provision",code="202"\} 1$/m);
  assert.match(ofBroker, /^klutch_broker_served_requests_total\{operation="provision",code="202"\} [1-9]/m);
  await client.delete(serviceInstances, { name: "counted" });
  await gone(serviceInstances, { name: "counted" });
  await provider.stop();
});
