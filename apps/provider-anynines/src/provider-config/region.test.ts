import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Backup,
  claimKindAnnotation,
  instanceTypeLabel,
  regionLabel,
  type ServiceInstance,
} from "@klutch/api";
import { ExternalError, NotYetError } from "@klutch/crossplane";
import { backupTarget } from "../backup/state.ts";
import { wantedOf } from "../testing/catalog.ts";

const apiVersion = "dataservices.anynines.com/v1";
const inRegion = { [instanceTypeLabel]: "postgresql", [regionLabel]: "eu-1" };
const composed = { [claimKindAnnotation]: "anynines.com/v1/Backup" };

function backup(config: string, metadata: object): Backup {
  return {
    apiVersion,
    kind: "Backup",
    metadata: { name: "b", ...metadata },
    spec: { providerConfigRef: { name: config }, forProvider: { instanceName: "db" } },
  };
}

function instance(config: string, labels: Readonly<Record<string, string>>): ServiceInstance {
  return {
    apiVersion,
    kind: "ServiceInstance",
    metadata: { name: "db-x", labels },
    spec: { providerConfigRef: { name: config }, forProvider: wantedOf() },
    status: { atProvider: { instanceId: "i", serviceId: "s", planId: "p", state: "provisioned" } },
  };
}

const target = { instanceId: "i", serviceId: "s" };

test("a backup waits until it names the manager for the region of its instance", () => {
  const far = instance("pg-far", inRegion);
  assert.throws(
    () => backupTarget(backup("postgresql-backup-manager", { annotations: composed }), [far]),
    (error) =>
      error instanceof NotYetError && /is in the region eu-1; the Backup goes there/.test(error.message),
  );
  const followed = backup("any-name", { labels: inRegion, annotations: composed });
  assert.deepEqual(backupTarget(followed, [far]), target);
});

test("a backup of an instance without a region, or one that people wrote, waits for nothing", () => {
  const usual = backup("postgresql-backup-manager", { annotations: composed });
  assert.deepEqual(backupTarget(usual, [instance("postgresql-service-broker", {})]), target);
  const free = { [instanceTypeLabel]: "a9s-postgresql17 of ours" };
  assert.deepEqual(backupTarget(usual, [instance("postgresql-service-broker", free)]), target);
  assert.deepEqual(
    backupTarget(backup("postgresql-backup-manager", {}), [instance("pg-far", inRegion)]),
    target,
  );
});

test("a backup of another type than the instance in a region is refused with the type of the instance", () => {
  assert.throws(
    () =>
      backupTarget(backup("mariadb-backup-manager", { annotations: composed }), [
        instance("pg-far", inRegion),
      ]),
    (error) =>
      error instanceof ExternalError &&
      !(error instanceof NotYetError) &&
      error.message.endsWith("serviceInstanceType postgresql"),
  );
});
