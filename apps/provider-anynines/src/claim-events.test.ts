import assert from "node:assert/strict";
import { test } from "node:test";
import type { Managed } from "@klutch/crossplane";
import { claimOfManaged, problemsOnClaims } from "./claim-events.ts";

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

test("an annotation that is no kind, or a managed resource of nobody, has no claim", () => {
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
