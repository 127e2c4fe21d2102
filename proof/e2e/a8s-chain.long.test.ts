import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ownProgram, startProcess } from "@klutch/engines";
import { decodeObject, formatKubeconfig, loadKubeconfig, parseYamlDocuments } from "@klutch/kube";
import {
  clusterRoles,
  type DynamicObject,
  recordAt,
  type ResourceType,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import {
  installedAccount,
  kubernetesObjects,
  namespacedKubernetesObjects,
  roleObject,
  startProviderKubernetes,
  waitFor,
} from "@klutch/kube-testing";
import { claimResource, type Generation, generations, legacy } from "@klutch/services";
import { instances as legacyInstances } from "./claim-kinds.ts";
import { Claims } from "./claims.ts";
import { startOwnSandbox } from "./own-sandbox.ts";
import { explainFailures } from "./sandbox-ends.ts";

const sandbox = await startOwnSandbox("a8s-chain", "--namespaced");
explainFailures(sandbox);
const { root, folder } = sandbox;
const stack = new AsyncDisposableStack();
stack.use(sandbox);
after(() => stack.disposeAsync());
for (const generation of generations)
  for (const kind of ["PostgresqlInstance", "ServiceBinding", "Backup", "Restore"]) {
    const { plural, group } = claimResource(kind, generation);
    await sandbox.bind(`${plural}.${group}`);
  }
const appA = await sandbox.client("app-a");
const controlPlane = await sandbox.client("control-plane");

let startOperator: () => Promise<void>;
before(startA8s, { timeout: 100_000 });

/** Starts provider-kubernetes in the control plane and prepares `startOperator`, which starts the operator behind it. */
async function startA8s(): Promise<void> {
  const kubeconfig = join(folder, "control-plane.kubeconfig");
  // Crossplane gives itself this right when it installs the provider's package.
  const apiGroups = [kubernetesObjects.group, namespacedKubernetesObjects.group];
  const rules = [{ apiGroups, resources: ["*"], verbs: ["*"] }];
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
    // The manifests that an administrator applies contain the account that the Deployment runs with.
    const file = await readFile(join(import.meta.dirname, "..", "..", "deploy", "a8s-operator.yaml"), "utf8");
    const manifests = parseYamlDocuments(file).map((document) =>
      decodeObject<DynamicObject>(document, "a8s-operator.yaml"),
    );
    const account = await installedAccount(await loadKubeconfig({ path: kubeconfig }), manifests);
    const ownKubeconfig = join(root, "a8s-operator.kubeconfig");
    await writeFile(ownKubeconfig, account, { mode: 0o600 });
    stack.use(
      await startProcess({
        name: "a8s-operator",
        command: process.execPath,
        args: [
          ownProgram("a8s-operator"),
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
const demo = new Claims(appA, "demo");

for (const generation of generations) {
  const instances = claimResource("PostgresqlInstance", generation);
  const bindings = claimResource("ServiceBinding", generation);
  const backups = claimResource("Backup", generation);
  const restores = claimResource("Restore", generation);
  const by = (composition: string): object => choiceOf(generation, composition);

  test(`an instance of a8s in ${generation.group} is ready when its database is, and rows that were destroyed come back`, async (t) => {
    const parameters = { maxConnections: 30, statementTimeout: 7000 };
    const spec = { service: "a9s-postgresql13", plan: "postgresql-single-nano", parameters };
    await demo.create(instances, "orders", { ...spec, ...by("a8s-postgresql") });
    if (generation === legacy) {
      // Nothing makes the database yet, and its kind is not even there.
      await demo.ready(instances, "orders", "False");
      await startOperator();
    }
    const startedAt = performance.now();
    const claim = await demo.ready(instances, "orders");
    t.diagnostic(`ready after ${Math.round(performance.now() - startedAt)} ms`);
    assert.deepEqual(recordAt(claim, "status", "managed")["readyReplicas"], 1);
    const [object, ...others] = await databases();
    assert.deepEqual(others, []);
    assert.deepEqual(recordAt(object, "spec", "parameters"), {
      maxConnections: 30,
      statementTimeoutMillis: 7000,
    });
    assert.equal(valueAt(object, "spec", "version"), 13);

    await demo.create(bindings, "app", { ...ofOrders, ...by("a8s-servicebinding") });
    const binding = await demo.ready(bindings, "app");
    const secret = textAt(binding, "status", "managed", "credentials", "name") ?? "";
    assert.deepEqual(await demo.query(secret, "show statement_timeout"), ["7s"]);
    await demo.query(secret, "create table rows as select generate_series(1, 3) as number");
    await demo.create(backups, "monday", { ...ofOrders, ...by("a8s-backup") });
    await demo.ready(backups, "monday");
    await demo.query(secret, "drop table rows");
    await demo.create(restores, "undo", { ...ofOrders, backupRef: "monday", ...by("a8s-restore") });
    await demo.ready(restores, "undo");
    assert.deepEqual(await demo.query(secret, "select number from rows"), [1, 2, 3]);

    await demo.delete(restores, "undo");
    await demo.delete(backups, "monday");
    await demo.delete(bindings, "app");
    await demo.delete(instances, "orders");
    await waitFor("the database to be gone", async () => (await databases()).length === 0);
  });
}

test("a claim of a replica plan is ready when its standbys follow", async () => {
  const spec = { service: "a9s-postgresql13", plan: "postgresql-replica-nano" };
  await demo.create(legacyInstances, "many", { ...spec, ...choiceOf(legacy, "a8s-postgresql") });
  const claim = await demo.ready(legacyInstances, "many");
  assert.deepEqual(recordAt(claim, "status", "managed")["readyReplicas"], 3);
  await demo.delete(legacyInstances, "many");
});

/** The part of a claim's spec that names its Composition. */
function choiceOf(generation: Generation, composition: string): object {
  const compositionRef = { name: `${composition}${generation.suffix}` };
  return generation === legacy ? { compositionRef } : { crossplane: { compositionRef } };
}

/** Lists the operator's objects in all namespaces. */
async function databases(): Promise<readonly DynamicObject[]> {
  const type: ResourceType = {
    group: "postgresql.anynines.com",
    version: "v1beta3",
    plural: "postgresqls",
    kind: "Postgresql",
    namespaced: true,
  };
  return (await controlPlane.list<DynamicObject>(type)).items;
}
