import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startProcess } from "@klutch/engines";
import { decodeObject, formatKubeconfig, loadKubeconfig, parseYamlDocuments } from "@klutch/kube";
import {
  clusterRoles,
  conditionsOf,
  type DynamicObject,
  findCondition,
  namespaces,
  recordAt,
  type ResourceType,
  secrets,
  secretText,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import {
  installedAccount,
  kubernetesObjects,
  namespaceObject,
  roleObject,
  startProviderKubernetes,
  waitFor,
} from "@klutch/kube-testing";
import { Client } from "pg";
import { backups, bindings, instances, restores } from "./claim-kinds.ts";
import { startOwnSandbox } from "./own-sandbox.ts";

const sandbox = await startOwnSandbox("a8s-chain");
const { root, folder } = sandbox;
const stack = new AsyncDisposableStack();
stack.use(sandbox);
after(() => stack.disposeAsync());
const kinds = [instances, bindings, backups, restores];
await sandbox.bind(...kinds.map(({ plural }) => plural));
const appA = await sandbox.client("app-a");
const controlPlane = await sandbox.client("control-plane");
await appA.create(namespaces, namespaceObject("demo"));

let startOperator: () => Promise<void>;
before(startA8s, { timeout: 100_000 });

/** What a platform team has in its control plane: provider-kubernetes, and an operator behind it. */
async function startA8s(): Promise<void> {
  const kubeconfig = join(folder, "control-plane.kubeconfig");
  // Crossplane gives itself this right when it installs the provider's package.
  const rules = [{ apiGroups: [kubernetesObjects.group], resources: ["*"], verbs: ["*"] }];
  const role = roleObject({ name: "compose-objects" }, rules);
  const labels = { "rbac.crossplane.io/aggregate-to-crossplane": "true" };
  await controlPlane.create(clusterRoles, { ...role, metadata: { ...role.metadata, labels } });
  stack.use(
    await startProviderKubernetes({
      client: controlPlane,
      kubeconfig: formatKubeconfig(await loadKubeconfig({ path: kubeconfig })),
      clusterFolder: join(folder, "clusters", "control-plane"),
      namespace: "crossplane-system",
    }),
  );
  startOperator = async () => {
    // What an administrator applies, and the account that the Deployment runs with.
    const file = await readFile(join(import.meta.dirname, "..", "deploy", "a8s-operator.yaml"), "utf8");
    const manifests = parseYamlDocuments(file).map((document) =>
      decodeObject<DynamicObject>(document, "a8s-operator.yaml"),
    );
    const account = await installedAccount(await loadKubeconfig({ path: kubeconfig }), manifests);
    const ownKubeconfig = join(root, "a8s-operator.kubeconfig");
    await writeFile(ownKubeconfig, account, { mode: 0o600 });
    const main = join(import.meta.dirname, "..", "apps", "a8s-operator", "src", "main.ts");
    stack.use(
      await startProcess({
        name: "a8s-operator",
        command: process.execPath,
        args: [
          main,
          `--kubeconfig=${ownKubeconfig}`,
          `--data-folder=${join(root, "a8s")}`,
          "--leader-election",
          "--namespace=a8s-system",
        ],
        logFile: join(root, "a8s-operator.log"),
      }),
    );
  };
}

const ofOrders = { instanceRef: "orders", serviceInstanceType: "postgresql" };

async function apply(type: ResourceType, name: string, composition: string, spec: object): Promise<void> {
  await appA.create<DynamicObject>(type, {
    apiVersion: "anynines.com/v1",
    kind: type.kind,
    metadata: { namespace: "demo", name },
    spec: { ...spec, compositionRef: { name: composition } },
  });
}

/** Waits for a `Ready` of this status whose message fits. */
async function ready(type: ResourceType, name: string, status: string, message: RegExp = /^/): Promise<void> {
  await waitFor(
    `${type.kind} ${name} to be ready: ${status}, ${message.source}`,
    async () => {
      const claim = await appA.get<DynamicObject>(type, { namespace: "demo", name });
      const found = findCondition(conditionsOf(claim), "Ready");
      if (found?.status === status && message.test(found.message ?? "")) return true;
      throw new Error(JSON.stringify(claim.status));
    },
    { timeoutMs: 150_000 },
  );
}

async function gone(type: ResourceType, name: string): Promise<void> {
  const isGone = async (): Promise<boolean> =>
    (await appA.find(type, { namespace: "demo", name })) === undefined;
  await waitFor(`${type.kind} ${name} to be gone`, isGone, { timeoutMs: 60_000 });
}

/** What the application gets with the Secret of its own cluster. */
async function query(statement: string): Promise<readonly unknown[]> {
  const name = "app-service-binding";
  const secret = await waitFor("the Secret to come down", () =>
    appA.find<DynamicObject>(secrets, { namespace: "demo", name }),
  );
  const client = new Client({ connectionString: secretText(secret, "uri") });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement);
    return rows.map((row) => Object.values(row)[0]);
  } finally {
    await client.end();
  }
}

test("a claim of a8s is ready when its database is, and rows that were destroyed come back", {
  timeout: 400_000,
}, async (t) => {
  const parameters = { maxConnections: 30, statementTimeout: 7000 };
  const spec = { service: "a9s-postgresql13", plan: "postgresql-single-nano", parameters };
  await apply(instances, "orders", "a8s-postgresql", spec);
  // Nothing makes the database yet, and its kind is not even there.
  await ready(instances, "orders", "False");
  await startOperator();
  const startedAt = performance.now();
  await ready(instances, "orders", "True");
  t.diagnostic(`ready ${Math.round(performance.now() - startedAt)} ms after the operator was started`);
  const claim = await appA.get<DynamicObject>(instances, { namespace: "demo", name: "orders" });
  assert.deepEqual(recordAt(claim, "status", "managed")["readyReplicas"], 1);
  const object = await databaseOf("orders");
  assert.deepEqual(recordAt(object, "spec", "parameters"), {
    maxConnections: 30,
    statementTimeoutMillis: 7000,
  });
  assert.equal(valueAt(object, "spec", "version"), 13);

  await apply(bindings, "app", "a8s-servicebinding", ofOrders);
  await ready(bindings, "app", "True");
  assert.deepEqual(await query("show statement_timeout"), ["7s"]);
  await query("create table rows as select generate_series(1, 3) as number");
  await apply(backups, "monday", "a8s-backup", ofOrders);
  await ready(backups, "monday", "True");
  await query("drop table rows");
  await apply(restores, "undo", "a8s-restore", { ...ofOrders, backupRef: "monday" });
  await ready(restores, "undo", "True");
  assert.deepEqual(await query("select number from rows"), [1, 2, 3]);

  for (const [type, name] of [
    [restores, "undo"],
    [backups, "monday"],
    [bindings, "app"],
    [instances, "orders"],
  ] as const) {
    await appA.delete(type, { namespace: "demo", name });
    await gone(type, name);
  }
  await waitFor("the database to be gone", async () => (await databaseOf("orders")) === undefined);
});

test("a claim of a replica plan is ready when its standbys follow", { timeout: 200_000 }, async () => {
  const spec = { service: "a9s-postgresql13", plan: "postgresql-replica-nano" };
  await apply(instances, "many", "a8s-postgresql", spec);
  await ready(instances, "many", "True");
  const claim = await appA.get<DynamicObject>(instances, { namespace: "demo", name: "many" });
  assert.deepEqual(recordAt(claim, "status", "managed")["readyReplicas"], 3);
  await appA.delete(instances, { namespace: "demo", name: "many" });
  await gone(instances, "many");
});

/** The operator's object, in whatever namespace the claim is upstream. */
async function databaseOf(name: string): Promise<DynamicObject | undefined> {
  const type: ResourceType = {
    group: "postgresql.anynines.com",
    version: "v1beta3",
    plural: "postgresqls",
    kind: "Postgresql",
    namespaced: true,
  };
  const { items } = await controlPlane.list<DynamicObject>(type);
  return items.find(({ metadata }) => textAt(metadata, "name") === name);
}
