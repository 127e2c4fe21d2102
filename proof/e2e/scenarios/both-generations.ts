/** Claims of both generations side by side: in one control plane with real Crossplane, provider and broker, and in one app cluster. */
import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import { namespacedServiceInstances, serviceInstances } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  customResourceDefinitions,
  findCondition,
  listAt,
  namespaces,
  numberAt,
  recordAt,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import { namespaceObject, waitFor } from "@klutch/kube-testing";
import { claimResource, v2 } from "@klutch/services";
import { backups, bindings, instances, nano, restores } from "../claim-kinds.ts";
import { Claims } from "../claims.ts";
import type { OwnSandbox } from "../own-sandbox.ts";

const namespacedInstances = claimResource("PostgresqlInstance", v2);
const namespacedBindings = claimResource("ServiceBinding", v2);
const namespacedBackups = claimResource("Backup", v2);
const namespacedRestores = claimResource("Restore", v2);
const toOrders = { instanceRef: "orders", serviceInstanceType: "postgresql" };
const ofMonday = { backupRef: "monday", serviceInstanceType: "postgresql" };

/** Declares the tests. They expect a control plane without instances. */
export function bothGenerations(sandbox: OwnSandbox): void {
  suite("claims of both generations", () => {
    let controlPlane: KubeClient;
    let appA: KubeClient;
    before(async () => {
      controlPlane = await sandbox.client("control-plane");
      appA = await sandbox.client("app-a");
    });

    test("on the control plane, a namespaced instance and its binding become ready, with the Secret beside them", {
      timeout: 300_000,
    }, async () => {
      await controlPlane.create(namespaces, namespaceObject("team"));
      const team = new Claims(controlPlane, "team");
      await team.create(namespacedInstances, "orders", nano);
      await team.create(namespacedBindings, "app", toOrders);
      const instance = await team.ready(namespacedInstances, "orders");
      assert.equal(
        textAt(instance, "spec", "crossplane", "compositionRef", "name"),
        "a9s-postgresql-namespaced",
      );
      const binding = await team.ready(namespacedBindings, "app");
      const keys = ["host", "hosts", "name", "password", "port", "uri", "username"];
      assert.deepEqual(valueAt(binding, "status", "managed", "credentials"), { name: "app-creds", keys });
      assert.deepEqual(await team.query("app-creds", "select 1 as one"), [1]);
      await assert.rejects(
        controlPlane.mergePatch(
          namespacedInstances,
          { namespace: "team", name: "orders" },
          { spec: { crossplane: { compositionRef: { name: "a8s-postgresql-namespaced" } } } },
        ),
        /CompositionRef is an immutable field: it is "a9s-postgresql-namespaced" and cannot become/,
      );
      await team.delete(namespacedBindings, "app");
      await team.delete(namespacedInstances, "orders");
    });

    test("in an app cluster, two claims of one name have different data, and one goes without the other", {
      timeout: 500_000,
    }, async () => {
      await sandbox.bind(instances.plural, bindings.plural);
      await sandbox.bind(backups.plural, restores.plural);
      for (const type of [namespacedInstances, namespacedBindings, namespacedBackups, namespacedRestores])
        await sandbox.bind(`${type.plural}.${type.group}`);
      const crd = await appA.get(customResourceDefinitions, { name: "postgresqlinstances.m.anynines.com" });
      const [version] = listAt(recordAt(crd, "spec"), "versions");
      const machinery = ["schema", "openAPIV3Schema", "properties", "spec", "properties", "crossplane"];
      assert.deepEqual(Object.keys(recordAt(version, ...machinery, "properties")).toSorted(), [
        "compositionRef",
        "compositionSelector",
      ]);
      const columns = listAt(version, "additionalPrinterColumns").map((column) => textAt(column, "name"));
      assert.deepEqual(columns, ["Service", "Plan", "Reason", "SYNCED", "READY", "AGE"]);
      await appA.create(namespaces, namespaceObject("demo"));
      const demo = new Claims(appA, "demo");
      await demo.create(instances, "orders", nano);
      await demo.create(namespacedInstances, "orders", nano);
      // Their Secrets are named after them, so bindings of one namespace have different names.
      await demo.create(bindings, "old", toOrders);
      await demo.create(namespacedBindings, "new", toOrders);
      for (const [type, name] of [
        [instances, "orders"],
        [namespacedInstances, "orders"],
        [bindings, "old"],
        [namespacedBindings, "new"],
      ] as const) {
        const claim = await demo.ready(type, name);
        assert.equal(numberAt(claim, "status", "observedGeneration"), claim.metadata.generation);
        // What Crossplane writes into its object stays there.
        assert.deepEqual(recordAt(claim, "spec")["crossplane"], undefined);
      }
      for (const binding of ["old", "new"])
        await demo.query(`${binding}-creds`, `create table notes as select '${binding}' as text`);
      assert.deepEqual(await demo.query("old-creds", "select text from notes"), ["old"]);
      assert.deepEqual(await demo.query("new-creds", "select text from notes"), ["new"]);

      await backUpAndRestore(demo);

      await appA.mergePatch(
        namespacedInstances,
        { namespace: "demo", name: "orders" },
        { spec: { plan: "postgresql-single-small" } },
      );
      await waitFor(
        "the change to be made and seen",
        async () => {
          const claim = await demo.find(namespacedInstances, "orders");
          const isSeen = numberAt(claim, "status", "observedGeneration") === claim?.metadata.generation;
          return isSeen && findCondition(conditionsOf(claim), "Ready")?.status === "True";
        },
        { timeoutMs: 120_000 },
      );

      await demo.delete(namespacedBindings, "new");
      await demo.delete(namespacedInstances, "orders");
      const { items: namespaced } = await controlPlane.list(namespacedServiceInstances);
      assert.deepEqual(namespaced, [], "the claim was gone before its database was");
      const { items: left } = await controlPlane.list(serviceInstances);
      assert.equal(left.length, 1);
      assert.deepEqual(await demo.query("old-creds", "select text from notes"), ["old"]);
      await demo.delete(bindings, "old");
      await demo.delete(instances, "orders");
    });
  });
}

/** A backup and a restore of each generation, of instances of one name and under one name: each is of its own generation's instance. */
async function backUpAndRestore(demo: Claims): Promise<void> {
  for (const type of [backups, namespacedBackups]) await demo.create(type, "monday", toOrders);
  for (const type of [backups, namespacedBackups]) await demo.ready(type, "monday");
  for (const binding of ["old", "new"])
    await demo.query(`${binding}-creds`, "update notes set text = 'overwritten'");
  await demo.create(namespacedRestores, "undo", ofMonday);
  await demo.ready(namespacedRestores, "undo");
  assert.deepEqual(await demo.query("new-creds", "select text from notes"), ["new"]);
  assert.deepEqual(await demo.query("old-creds", "select text from notes"), ["overwritten"]);
  await demo.create(restores, "undo", ofMonday);
  await demo.ready(restores, "undo");
  assert.deepEqual(await demo.query("old-creds", "select text from notes"), ["old"]);
  for (const type of [restores, namespacedRestores]) await demo.delete(type, "undo");
  for (const type of [backups, namespacedBackups]) await demo.delete(type, "monday");
}
