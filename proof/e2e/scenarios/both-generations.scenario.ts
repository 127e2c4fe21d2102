/** Claims of both generations side by side: in one control plane with real Crossplane, provider and broker, and in one app cluster. */
import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import { claimNamespaceLabel, namespacedServiceInstances, serviceInstances } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  customResourceDefinitions,
  type DynamicObject,
  isTrue,
  listAt,
  namespaces,
  numberAt,
  recordAt,
  type ResourceType,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import { namespaceObject } from "@klutch/kube-testing";
import { claimResource, v2 } from "@klutch/services";
import { backups, bindings, credentialKeys, instances, nano, restores } from "../claim-kinds.ts";
import { Claims } from "../claims.ts";
import type { OwnSandbox } from "../own-sandbox.ts";

const namespacedInstances = claimResource("PostgresqlInstance", v2);
const namespacedBindings = claimResource("ServiceBinding", v2);
const namespacedBackups = claimResource("Backup", v2);
const namespacedRestores = claimResource("Restore", v2);
const toOrders = { instanceRef: "orders", serviceInstanceType: "postgresql" };
const ofMonday = { backupRef: "monday", serviceInstanceType: "postgresql" };

const hasOwnStatus = (claim: DynamicObject): boolean =>
  numberAt(claim, "status", "observedGeneration") === claim.metadata.generation;

/** Declares the tests, which want the four kinds of the first generation bound to app cluster A. */
export function bothGenerations(sandbox: OwnSandbox): void {
  suite("claims of both generations", () => {
    let controlPlane: KubeClient;
    let appA: KubeClient;
    before(async () => {
      controlPlane = await sandbox.client("control-plane");
      appA = await sandbox.client("app-a");
    });

    /** Managed resources behind the claims of the app cluster's namespace `both`. */
    async function madeForBoth(type: ResourceType): Promise<number> {
      const { items } = await controlPlane.list<DynamicObject>(type);
      const isMeant = (one: DynamicObject): boolean =>
        one.metadata.labels?.[claimNamespaceLabel]?.endsWith("-both") === true;
      return items.filter(isMeant).length;
    }

    test("on the control plane, a namespaced instance and its binding become ready, with the Secret beside them", async () => {
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
      const credentials = { name: "app-creds", keys: credentialKeys };
      assert.deepEqual(valueAt(binding, "status", "managed", "credentials"), credentials);
      assert.deepEqual(await team.query("app-creds", "select 1 as one"), [1]);
      await assert.rejects(
        team.patch(namespacedInstances, "orders", {
          spec: { crossplane: { compositionRef: { name: "a8s-postgresql-namespaced" } } },
        }),
        /CompositionRef is an immutable field: it is "a9s-postgresql-namespaced" and cannot become/,
      );
      await team.delete(namespacedBindings, "app");
      await team.delete(namespacedInstances, "orders");
    });

    test("in an app cluster, two claims of one name have different data, and one goes without the other", async () => {
      for (const type of [namespacedInstances, namespacedBindings, namespacedBackups, namespacedRestores])
        await sandbox.bind(`${type.plural}.${type.group}`);
      await assertShownWithoutMachinery(appA);
      await appA.create(namespaces, namespaceObject("both"));
      const both = new Claims(appA, "both");
      await both.create(instances, "orders", nano);
      await both.create(namespacedInstances, "orders", nano);
      // Their Secrets are named after them, so bindings of one namespace have different names.
      await both.create(bindings, "old", toOrders);
      await both.create(namespacedBindings, "new", toOrders);
      for (const [type, name] of [
        [instances, "orders"],
        [namespacedInstances, "orders"],
        [bindings, "old"],
        [namespacedBindings, "new"],
      ] as const) {
        const claim = await both.ready(type, name);
        assert.ok(hasOwnStatus(claim), name);
        // Crossplane's own fields of its object do not come back to the claim.
        assert.deepEqual(recordAt(claim, "spec")["crossplane"], undefined);
      }
      for (const binding of ["old", "new"])
        await both.query(`${binding}-creds`, `create table notes as select '${binding}' as text`);
      await assertNotes(both, "old", "old");
      await assertNotes(both, "new", "new");

      await backUpAndRestore(both);

      await both.patch(namespacedInstances, "orders", { spec: { plan: "postgresql-single-small" } });
      await both.become(
        namespacedInstances,
        "orders",
        "changed and ready",
        (claim) => hasOwnStatus(claim) && isTrue(conditionsOf(claim), "Ready"),
      );

      assert.equal(await madeForBoth(namespacedServiceInstances), 1);
      await both.delete(namespacedBindings, "new");
      await both.delete(namespacedInstances, "orders");
      const left = await madeForBoth(namespacedServiceInstances);
      assert.equal(left, 0, "the claim was gone before its database was");
      assert.equal(await madeForBoth(serviceInstances), 1);
      await assertNotes(both, "old", "old");
      await both.delete(bindings, "old");
      await both.delete(instances, "orders");
    });
  });
}

/** Asserts that a namespaced claim in an app cluster shows only the Composition's choice of Crossplane's fields, and the same columns as ever. */
async function assertShownWithoutMachinery(appA: KubeClient): Promise<void> {
  const crd = await appA.get(customResourceDefinitions, { name: "postgresqlinstances.m.anynines.com" });
  const [version] = listAt(recordAt(crd, "spec"), "versions");
  const machinery = ["schema", "openAPIV3Schema", "properties", "spec", "properties", "crossplane"];
  assert.deepEqual(Object.keys(recordAt(version, ...machinery, "properties")).toSorted(), [
    "compositionRef",
    "compositionSelector",
  ]);
  const columns = listAt(version, "additionalPrinterColumns").map((column) => textAt(column, "name"));
  assert.deepEqual(columns, ["Service", "Plan", "Reason", "SYNCED", "READY", "AGE"]);
}

async function assertNotes(both: Claims, binding: "old" | "new", text: string): Promise<void> {
  assert.deepEqual(await both.query(`${binding}-creds`, "select text from notes"), [text], binding);
}

/** A backup and a restore of each generation, of instances of one name and under one name: each is of its own generation's instance. */
async function backUpAndRestore(both: Claims): Promise<void> {
  for (const type of [backups, namespacedBackups]) await both.create(type, "monday", toOrders);
  for (const type of [backups, namespacedBackups]) await both.ready(type, "monday");
  for (const binding of ["old", "new"])
    await both.query(`${binding}-creds`, "update notes set text = 'overwritten'");
  await both.create(namespacedRestores, "undo", ofMonday);
  await both.ready(namespacedRestores, "undo");
  await assertNotes(both, "new", "new");
  await assertNotes(both, "old", "overwritten");
  await both.create(restores, "undo", ofMonday);
  await both.ready(restores, "undo");
  await assertNotes(both, "old", "old");
  for (const type of [restores, namespacedRestores]) await both.delete(type, "undo");
  for (const type of [backups, namespacedBackups]) await both.delete(type, "monday");
}
