import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tenant } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { clusterProblem, instanceProblem } from "./console-problems.ts";
import { claimFacts, clusterRow, instanceRow } from "./console-rows.ts";

const type = { group: "example.org", version: "v1", plural: "databases", kind: "Database", namespaced: true };
const place = { tenant: "cluster-a", namespace: "team", cluster: "prod" };
const at = "2026-11-28T12:00:00Z";

function claim(status: object, metadata: object = {}): DynamicObject {
  return {
    apiVersion: "example.org/v1",
    kind: "Database",
    metadata: { namespace: "above", name: "db", creationTimestamp: at, ...metadata },
    spec: { plan: "small" },
    status,
  };
}

function rowOf(object: DynamicObject): ReturnType<typeof instanceRow> {
  return instanceRow(type, claimFacts(object), place);
}

const ready = (status: string, reason: string, message = ""): object => ({
  conditions: [{ type: "Ready", status, reason, message, lastTransitionTime: at }],
});

test("a claim's health follows its conditions: well, pending, problem, deleting", () => {
  assert.equal(rowOf(claim(ready("True", "Available"))).health, "well");
  assert.equal(rowOf(claim({})).health, "pending");
  assert.equal(rowOf(claim(ready("False", "Creating"))).health, "pending");
  assert.equal(rowOf(claim(ready("False", "NoBroker"))).health, "problem");
  assert.equal(rowOf(claim(ready("True", "Available"), { deletionTimestamp: at })).health, "deleting");
});

test("a claim's place is the one that it is given, whatever the claim says", () => {
  const { tenant, namespace, cluster, id } = rowOf(claim({}, { annotations: { tenant: "other" } }));
  assert.deepEqual({ tenant, namespace, cluster }, place);
  assert.equal(id, "databases.example.org/above/db");
});

test("a problem says who can go on, since when, and the next step", () => {
  const object = claim(ready("False", "Refused", "no such plan"));
  const problem = instanceProblem(rowOf(object), claimFacts(object));
  assert.equal(problem?.who, "developer");
  assert.equal(problem.next, "kubectl edit databases.example.org db -n team");
  assert.equal(problem.since, at);
  assert.equal(problem.says, "no such plan");
  const well = claim(ready("True", "Available"));
  assert.equal(instanceProblem(rowOf(well), claimFacts(well)), undefined);
});

test("texts of strangers come out on one line and bounded, conditions of another shape are left out", () => {
  const row = rowOf(claim(ready("False", "A".repeat(5_000), `<img>\n\u0000${"x".repeat(1_000_000)}`)));
  assert.ok(JSON.stringify(row).length < 1_500);
  assert.doesNotMatch(row.problem, /\p{Cc}/u);
  assert.match(row.problem, /^<img> x/);
  assert.equal(rowOf(claim({ conditions: "none" })).health, "pending");
  assert.equal(rowOf(claim({ conditions: [null, 7, { type: 3 }] })).health, "pending");
});

test("an app cluster that never reported is pending, and one with a problem says it", () => {
  const facts = { apis: [], claims: 0, notReady: 0, heldDeletions: 0 };
  const binding = (status: object): DynamicObject => ({
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "ClusterBinding",
    metadata: { namespace: "cluster-a", name: "cluster" },
    status,
  });
  assert.equal(clusterRow(binding({}), undefined, facts).health, "pending");
  assert.equal(clusterRow(binding({ lastHeartbeatTime: at }), undefined, facts).health, "well");
  const conditions = [
    {
      type: "Healthy",
      status: "False",
      severity: "Error",
      reason: "Late",
      message: "silent",
      lastTransitionTime: at,
    },
  ];
  const row = clusterRow(binding({ lastHeartbeatTime: at, conditions }), undefined, facts);
  assert.deepEqual([row.health, row.problem], ["problem", "Healthy Late: silent"]);
});

test("an app cluster whose konnector refuses the wanted version has that as its problem, after its own conditions", () => {
  const facts = { apis: [], claims: 0, notReady: 0, heldDeletions: 0 };
  const rowWith = (status: object) =>
    clusterRow(
      {
        apiVersion: "klutch.anynines.com/v1alpha1",
        kind: "ClusterBinding",
        metadata: { namespace: "cluster-a", name: "cluster" },
        status: { lastHeartbeatTime: at, ...status },
      } as DynamicObject,
      undefined,
      facts,
    );
  const follows = { line: "patch", floor: "v1.6.0" };
  assert.equal(rowWith({ konnectorUpdates: follows }).health, "well");
  const problem = "v1.7.0 is not of v1.6.\u001b[2J<b>";
  const row = rowWith({ konnectorUpdates: { ...follows, problem } });
  assert.equal(row.health, "problem");
  assert.match(
    row.problem,
    /^KonnectorUpdate Refused: the wanted konnector version is not run: v1\.7\.0 is not of v1\.6\./,
  );
  assert.doesNotMatch(row.problem, /[\p{Cc}\p{Cf}]/u);
  const { reason, next } = clusterProblem(row) ?? {};
  assert.deepEqual([reason, next], ["KonnectorUpdate Refused", "klutch clusters -o wide"]);
  const conditions = [
    { type: "Healthy", status: "False", severity: "Error", reason: "Late", lastTransitionTime: at },
  ];
  assert.match(rowWith({ konnectorUpdates: { ...follows, problem }, conditions }).problem, /^Healthy Late/);
  assert.equal(rowWith({ konnectorUpdates: { problem: "x".repeat(10_000) } }).health, "well");
});

test("an app cluster's credential ends as its Tenant says, whatever its own account wrote", () => {
  const credentialEndsAt = "2026-12-24T00:00:00Z";
  const [apiVersion, kind] = ["klutch.anynines.com/v1alpha1", "ClusterBinding"];
  const binding = {
    apiVersion,
    kind,
    metadata: {
      namespace: "cluster-a",
      name: "cluster",
      annotations: { credentialEndsAt: "2099-01-01T00:00:00Z" },
    },
    status: { credentialEndsAt: "2099-01-01T00:00:00Z" },
  };
  const tenant = (status: object): Tenant => ({ apiVersion, kind: "Tenant", metadata: {}, spec: {}, status });
  const facts = { apis: [], claims: 0, notReady: 0, heldDeletions: 0 };
  const endOf = (status: object): string | undefined =>
    clusterRow(binding, tenant(status), facts).credentialEnds;
  assert.equal(endOf({ credentialEndsAt }), credentialEndsAt);
  assert.equal(endOf({}), undefined);
  assert.equal(endOf({ credentialEndsAt: "soon" }), undefined);
});
