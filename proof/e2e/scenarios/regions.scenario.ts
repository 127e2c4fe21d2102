/** Two brokers for one service: what a claim's region chooses, by a real Crossplane. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  backups as managedBackups,
  managedServiceBindings,
  providerConfigs,
  regionAboutAnnotation,
  regionLabel,
  restores as managedRestores,
  serviceInstances,
  serviceTypeLabel,
} from "@klutch/api";
import { decodeObject, type KubeClient, parseYaml } from "@klutch/kube";
import {
  clusterRoles,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import { blocksIn } from "@klutch/launcher";
import { isAllowed, namespaceObject, waitFor } from "@klutch/kube-testing";
import { backups, bindings, instances, nano, restores } from "../claim-kinds.ts";
import { Claims, managedBehind } from "../claims.ts";
import type { OwnSandbox } from "../own-sandbox.ts";

const config = "postgresql-eu-1";
const managerConfig = "postgresql-eu-1-backups";
const place = "regions";
const elsewhere = "regions-elsewhere";
const said = "klutch.anynines.com/Ready";
const crossplane = "system:serviceaccount:crossplane-system:crossplane";

/** Returns the role that docs/several-brokers.md gives Crossplane. */
async function readerOfPage(): Promise<KubeObject> {
  const block = (await blocksIn("docs/several-brokers.md")).find(({ heading }) => heading === "Add a broker");
  const [, manifest] = /<<EOF\n([^]*)^EOF$/m.exec(block?.text ?? "") ?? [];
  assert.ok(manifest !== undefined, "the page has a role");
  return decodeObject<KubeObject>(parseYaml(manifest), "docs/several-brokers.md");
}

/** Makes a ProviderConfig of the region `eu-1` for the backend of an existing one. */
async function placeInRegion(client: KubeClient, name: string, like: string): Promise<void> {
  const { apiVersion, kind, ...usual } = await client.get<DynamicObject>(providerConfigs, { name: like });
  await client.create<DynamicObject>(providerConfigs, {
    apiVersion,
    kind,
    metadata: {
      name,
      labels: { [serviceTypeLabel]: "postgresql", [regionLabel]: "eu-1" },
      annotations: { [regionAboutAnnotation]: "Frankfurt" },
    },
    spec: usual["spec"],
  });
}

/** Declares the tests. */
export function regions(sandbox: OwnSandbox): void {
  suite("the region of a claim", { concurrency: 1 }, () => {
    test("an instance is made at the broker of its region, its binding follows, and an unknown region is refused with the possible ones", async () => {
      const client = await sandbox.client("control-plane");
      await client.create(namespaces, namespaceObject(place));
      await client.create(clusterRoles, await readerOfPage());
      const read = { verb: "list", group: "", resource: "namespaces" };
      await waitFor("Crossplane's right", () => isAllowed(client, crossplane, read));
      const usual = "postgresql-service-broker";
      await placeInRegion(client, config, usual);
      const claims = new Claims(client, place);
      const instanceRef = "near";
      await claims.create(instances, instanceRef, { ...nano, region: "eu-1" });
      await claims.create(bindings, instanceRef, { instanceRef, serviceInstanceType: "postgresql" });
      await claims.create(instances, "far", { ...nano, region: "mars" });
      await claims.create(instances, "usual", nano);
      await claims.says(
        instances,
        "far",
        said,
        /^False RegionNotAvailable: .*"mars".*one of: eu-1 \(Frankfurt\)/,
      );
      for (const [type, name] of [
        [instances, "near"],
        [bindings, "near"],
        [instances, "usual"],
      ] as const)
        await claims.says(type, name, said, /^True Available/);
      const near = await claims.find(instances, "near");
      assert.equal(textAt(near?.status, "managed", "region"), "eu-1");
      const configOf = async (type: ResourceType, name: string): Promise<string | undefined> =>
        textAt(
          await managedBehind(client, type, { namespace: place, name }),
          "spec",
          "providerConfigRef",
          "name",
        );
      assert.equal(await configOf(serviceInstances, "near"), config);
      assert.equal(await configOf(managedServiceBindings, "near"), config);
      assert.equal(await configOf(serviceInstances, "usual"), usual);
      assert.equal(await configOf(serviceInstances, "far"), undefined);
      await assert.rejects(claims.patch(instances, "near", { spec: { region: "mars" } }), /region/);
      await claims.delete(instances, "far");
    });

    test("its backup and its restore go to the backup manager of its region, and none to an instance of another namespace", async () => {
      const client = await sandbox.client("control-plane");
      await placeInRegion(client, managerConfig, "postgresql-backup-manager");
      await client.create(namespaces, namespaceObject(elsewhere));
      const [claims, others] = [new Claims(client, place), new Claims(client, elsewhere)];
      const of = { instanceRef: "near", serviceInstanceType: "postgresql" };
      await claims.query("near-creds", "create table rows as select generate_series(1, 3) as number");
      await claims.create(backups, "monday", of);
      await claims.ready(backups, "monday");
      await claims.query("near-creds", "drop table rows");
      await claims.create(restores, "undo", { ...of, backupRef: "monday" });
      await claims.ready(restores, "undo");
      assert.deepEqual(await claims.query("near-creds", "select number from rows"), [1, 2, 3]);
      for (const [type, name] of [
        [managedBackups, "monday"],
        [managedRestores, "undo"],
      ] as const) {
        const managed = await managedBehind(client, type, { namespace: place, name });
        assert.equal(textAt(managed, "spec", "providerConfigRef", "name"), managerConfig);
        assert.equal(managed?.metadata.labels?.[regionLabel], "eu-1");
      }
      await others.create(backups, "theirs", of);
      await others.create(restores, "theirs", { ...of, backupRef: "monday" });
      await others.says(backups, "theirs", said, /^False WaitingForInstance: .*near/);
      await others.says(restores, "theirs", said, /^False WaitingForBackup: .*monday/);
      await claims.create(restores, "astray", { ...of, instanceRef: "usual", backupRef: "monday" });
      await claims.says(restores, "astray", said, /^False Refused: .*goes back into its own instance only/);
      await others.delete(restores, "theirs");
      await others.delete(backups, "theirs");
      await claims.delete(restores, "undo", "astray");
      await claims.delete(backups, "monday");
      await claims.delete(bindings, "near");
      await claims.delete(instances, "near", "usual");
      for (const name of [managerConfig, config]) await client.delete(providerConfigs, { name });
    });
  });
}
