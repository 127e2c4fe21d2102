import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComposeRequest, Json } from "@klutch/crossplane";
import { recordAt, textAt } from "@klutch/kube-core";
import { composeIn } from "./testing/rounds.ts";

const label = (name: string): string => `klutch.anynines.com/${name}`;
const group = "dataservices.anynines.com/v1";
const inRegion = { "klutch.io/instance-type": "postgresql", [label("region")]: "eu-1" };

function managed(
  kind: string,
  claim: string,
  config: string,
  labels: object = inRegion,
  more: Json = {},
): Json {
  return {
    apiVersion: group,
    kind,
    metadata: {
      name: `${claim}-x`,
      labels: { "crossplane.io/claim-name": claim, "crossplane.io/claim-namespace": "team", ...labels },
    },
    spec: { providerConfigRef: { name: config } },
    ...more,
  };
}

function manager(name: string, region = "eu-1", serviceType = "backupmanager"): Json {
  const labels = { [label("service-type")]: "postgresql", [label("region")]: region };
  return { apiVersion: group, kind: "ProviderConfig", metadata: { name, labels }, spec: { serviceType } };
}

type Followers = "service-binding" | "backup" | "restore";
const usual: Readonly<Record<Followers, string>> = {
  "service-binding": "postgresql-service-broker",
  backup: "postgresql-backup-manager",
  restore: "postgresql-backup-manager",
};

function request(resource: Followers, observed?: Json): Omit<ComposeRequest, "required"> {
  const labels = { "crossplane.io/claim-name": "mine", "crossplane.io/claim-namespace": "team" };
  return {
    composite: {
      metadata: { name: "mine-x1", labels },
      spec: { instanceRef: "db", backupRef: "saved", serviceInstanceType: "postgresql" },
    },
    observed: observed === undefined ? {} : { managed: { resource: observed, connection: {} } },
    input: { resource },
  };
}

function composed(objects: readonly Json[], asked: Omit<ComposeRequest, "required">): Json {
  const { answer } = composeIn(objects, asked);
  return answer.resources["managed"]?.resource ?? assert.fail(JSON.stringify(answer.results));
}

const configOf = (resource: Json): string | undefined =>
  textAt(resource, "spec", "providerConfigRef", "name");
const instance = managed("ServiceInstance", "db", "pg-one");
const followers = ["service-binding", "backup", "restore"] as const;

test("a binding goes to the broker of its instance, a backup to the manager of its region, a restore to that of its backup", () => {
  const binding = composed([instance], request("service-binding"));
  assert.equal(configOf(binding), "pg-one");
  assert.equal(textAt(recordAt(binding, "metadata", "labels"), label("region")), "eu-1");
  const backup = composed(
    [instance, manager("pg-saves"), manager("far", "eu-2"), manager("no", "eu-1", "servicebroker")],
    request("backup"),
  );
  assert.equal(configOf(backup), "pg-saves");
  assert.equal(configOf(composed([instance], request("backup"))), usual.backup);
  assert.equal(configOf(composed([managed("Backup", "saved", "pg-saves")], request("restore"))), "pg-saves");
});

test("what follows an instance of before regions is composed as before, without a label more", () => {
  const old = managed("ServiceInstance", "db", "postgresql-service-broker", {});
  const saved = managed("Backup", "saved", "postgresql-backup-manager", {});
  for (const resource of followers)
    for (const objects of [[], [old, saved, manager("pg-saves")]]) {
      const made = composed(objects, request(resource));
      assert.equal(configOf(made), usual[resource]);
      assert.equal(textAt(recordAt(made, "metadata", "labels"), label("region")), undefined);
    }
});

test("what was begun at a backend stays there, and nothing is asked", () => {
  for (const resource of followers) {
    const fresh = composed([], request(resource));
    const annotations = { "anynines.crossplane.io/broker-operation": "{}" };
    const labels = { ...recordAt(fresh, "metadata", "labels"), ...inRegion };
    const begun = {
      ...fresh,
      metadata: { ...recordAt(fresh, "metadata"), labels, annotations },
      spec: { ...recordAt(fresh, "spec"), providerConfigRef: { name: "pg-old" } },
    };
    const { answer, calls } = composeIn(
      [instance, managed("Backup", "saved", "pg-new")],
      request(resource, begun),
    );
    assert.deepEqual([calls, answer.required], [1, undefined], resource);
    const after = answer.resources["managed"]?.resource ?? {};
    assert.equal(configOf(after), "pg-old");
    assert.deepEqual(recordAt(after, "metadata", "labels"), labels);
    // One that waits follows.
    const waiting = { ...begun, metadata: { ...begun.metadata, annotations: {} } };
    assert.notEqual(
      configOf(composed([instance, managed("Backup", "saved", "pg-new")], request(resource, waiting))),
      "pg-old",
    );
  }
});

test("nothing leads a claim to the broker of others: another type, another namespace, two of a name, a name that is none", () => {
  for (const lie of [
    [managed("ServiceInstance", "db", "pg-one", { ...inRegion, "klutch.io/instance-type": "mariadb" })],
    [managed("ServiceInstance", "db", "pg-one", { ...inRegion, "crossplane.io/claim-namespace": "other" })],
    [instance, instance],
    [managed("ServiceInstance", "db", "../pg-one")],
    [managed("ServiceInstance", "db", "pg-one", inRegion, { kind: "Backup" })],
  ])
    assert.equal(configOf(composed(lie, request("service-binding"))), usual["service-binding"]);
});

test("a namespaced binding follows an instance beside it at a ClusterProviderConfig, and none that somebody else wrote", () => {
  const beside = (namespace: string, kind: string): Json => {
    const one = managed("ServiceInstance", "db", "pg-one", inRegion, {
      apiVersion: "dataservices.m.anynines.com/v1",
      spec: { providerConfigRef: { kind, name: "pg-one" } },
    });
    return { ...one, metadata: { ...recordAt(one, "metadata"), namespace } };
  };
  const asked = request("service-binding");
  const composite = { ...asked.composite, metadata: { name: "mine", namespace: "team" } };
  const at = (one: Json): string | undefined => configOf(composed([one], { ...asked, composite }));
  assert.equal(at(beside("team", "ClusterProviderConfig")), "pg-one");
  assert.equal(at(beside("team", "ProviderConfig")), usual["service-binding"]);
  assert.equal(at(beside("other", "ClusterProviderConfig")), usual["service-binding"]);
});

test("two backup managers of one region are a mistake of operators, and no backup is made", () => {
  const { answer } = composeIn([instance, manager("b"), manager("a")], request("backup"));
  assert.deepEqual(answer.resources, {});
  const [ready] = answer.conditions ?? [];
  assert.equal(ready?.reason, "RegionMisconfigured");
  assert.match(
    ready?.message ?? "",
    /the backup managers a and b both claim the region eu-1 of postgresql; relabel one/,
  );
});
