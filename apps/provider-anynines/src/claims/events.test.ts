import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProviderConfig } from "@klutch/api";
import type { Managed } from "@klutch/crossplane";
import { claimOfManaged, leftAtBrokers, missingOnClaims, problemsOnClaims } from "./events.ts";

function managed(claimKind: string | undefined, labels: Readonly<Record<string, string>> = owner): Managed {
  const annotations = claimKind === undefined ? {} : { "klutch.anynines.com/claim-kind": claimKind };
  const metadata = { name: "x", labels: { ...labels }, annotations };
  return { apiVersion: "dataservices.anynines.com/v1", kind: "ServiceInstance", metadata, spec: {} };
}

const owner = { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "team" };
const known = "anynines.com/v1/PostgresqlInstance";

test("the claim of a managed resource has the kind of the annotation and the name of the labels", () => {
  assert.deepEqual(claimOfManaged(managed(known)), {
    apiVersion: "anynines.com/v1",
    kind: "PostgresqlInstance",
    metadata: { namespace: "team", name: "db" },
  });
});

test("an annotation that is no kind, or a managed resource of no one, has no claim", () => {
  for (const kind of [
    undefined,
    "",
    "v1/Secret",
    "anynines.com/v1",
    `${known}\n`,
    `x/${known}`,
    "a/v1/postgres",
  ])
    assert.equal(claimOfManaged(managed(kind)), undefined, String(kind));
  assert.equal(claimOfManaged(managed(known, {})), undefined);
  assert.equal(claimOfManaged(managed(`anynines.com/v1/${"K".repeat(500_000)}`)), undefined);
});

test("a missing instance is told on the claim at once if its name is misspelled, else when it has not come within 30 seconds", () => {
  const told: unknown[] = [];
  const start = Date.parse("2026-01-01T00:00:00Z");
  const clock = { now: (): number => start + 29_000 };
  const tell = missingOnClaims(
    { recordWarning: (about, reason, _, related) => told.push([about.metadata.name, reason, related]) },
    clock,
  );
  const one = managed(known);
  const binding = { ...one, metadata: { ...one.metadata, creationTimestamp: "2026-01-01T00:00:00Z" } };
  const missing = { instanceName: "orders", message: "no instance orders", isMisspelled: false };
  tell(binding, missing);
  tell(managed(undefined), { ...missing, isMisspelled: true });
  assert.deepEqual(told, []);
  const said = ["db", "InstanceNotFound", { kind: "Instance", name: "orders" }];
  tell(binding, { ...missing, isMisspelled: true });
  clock.now = () => start + 30_000;
  tell(binding, missing);
  assert.deepEqual(told, [said, said]);
});

test("problems are told on the claim while it is deleted, and only then", () => {
  const told: unknown[] = [];
  const tell = problemsOnClaims({
    recordWarning: (about, reason, message) => told.push([about.metadata.name, reason, message]),
  });
  tell(managed(known), { reason: "Refused", message: "no" }, false);
  tell(managed(undefined), { reason: "StillBound", message: "bound" }, true);
  tell(managed(known), { reason: "StillBound", message: "bound" }, true);
  tell(managed(known), { reason: undefined, message: "broken" }, true);
  assert.deepEqual(told, [
    ["db", "StillBound", "bound"],
    ["db", "ServiceProblem", "broken"],
  ]);
});

test("an instance that is left at its broker is told on its claim and on the ProviderConfig", () => {
  const told: unknown[] = [];
  const config: ProviderConfig = {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    metadata: { name: "c" },
    spec: {
      url: "https://broker.example",
      serviceType: "servicebroker",
      providerCredentials: { source: "None", username: {}, password: {} },
    },
  };
  const tell = leftAtBrokers(
    {
      recordWarning: ({ kind, metadata }, reason, message) =>
        told.push([kind, metadata.name, reason, message]),
    },
    (name) => (name === "c" ? config : undefined),
  );
  const left = managed(known);
  tell({ managed: left, config: "c", instanceId: "id" });
  tell({ managed: { ...left, metadata: { name: "y" } }, config: "gone", instanceId: "id" });
  assert.deepEqual(told, [
    [
      "PostgresqlInstance",
      "db",
      "LeftAtBroker",
      "the instance id is left at its broker: its managed resource x vanished without being deleted, so a new, empty one may be made; tell the platform team",
    ],
    [
      "ProviderConfig",
      "c",
      "LeftAtBroker",
      "the instance id is left at the broker: its managed resource x vanished without being deleted; import it by a ServiceInstance, or deprovision it at the broker",
    ],
  ]);
});
