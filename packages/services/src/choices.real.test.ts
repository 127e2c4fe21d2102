import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePlacedYaml } from "@klutch/kube";
import { customResourceDefinitions, type DynamicObject, recordAt, refOfObject } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { claimResource } from "./data-service.ts";
import { generations } from "./generation.ts";
import { dataServiceOf } from "./table/data-service-of.ts";
import { readTable } from "./table/read-table.ts";
import { claimCrd } from "./testing/claim-crd.ts";
import { startClaimServer } from "./testing/claim-server.ts";
import type { CompositeResourceDefinition } from "./xrd.ts";
import { instanceXrd } from "./instance-xrd.ts";

/** A table of two backends, with what the first says of its oldest plan and what the table says besides. */
function definitionsOf(type: string, old: string, more = ""): readonly CompositeResourceDefinition[] {
  const kind = `${type.charAt(0).toUpperCase()}${type.slice(1)}Instance`;
  const { table, faults } = readTable(
    parsePlacedYaml(`apiVersion: services.klutch.anynines.com/v1alpha1
kind: DataService
metadata: { name: ${type} }
spec:
  title: Example
  about: A service to choose from.
  claim: { kind: ${kind} }
  backends:
    - name: a9s
      default: true
      broker: {}
      services: [one]
      plans: [{ name: small }, { name: big }, { name: old${old} }]
    - name: own
      broker: {}
      services: [one]
      plans: [{ name: tiny }]
  ${more}
  parameters: [{ name: words, about: Some words., to: { a9s: words, own: words }, schema: { type: string } }]
  credentials: { keys: [host] }
`),
  );
  assert.deepEqual(faults, []);
  assert.ok(table !== undefined);
  const service = dataServiceOf(table);
  return generations.map((generation) => instanceXrd(generation, service));
}

const server = await startClaimServer("choices", [
  ...definitionsOf("aging", ""),
  ...definitionsOf("strict", ""),
  ...definitionsOf("open", "", "otherCompositions: true"),
]);
const { client } = server;

test("a plan that was retired stays where it is, can be left, and cannot be chosen", async () => {
  const type = claimResource("AgingInstance");
  const old = { service: "one", plan: "old" };
  await server.create(type, "kept", old);
  await server.create(type, "left", old);
  const crds = definitionsOf("aging", ", retired: true").map(claimCrd);
  for (const crd of crds)
    await client.apply(customResourceDefinitions, crd, { fieldManager: "test", force: true });
  const unsupported = /Unsupported plan used for aging: spec\.plan is "old"; possible: small, big/;
  await waitFor("the newer definitions", () =>
    server.create(type, "tried", old, { dryRun: true }).then(
      () => false,
      // One of the two may come first.
      (error: unknown) => !(error instanceof assert.AssertionError) && unsupported.test(String(error)),
    ),
  );
  await server.patch(type, "kept", { parameters: { words: "others" } });
  await server.patch(type, "left", { plan: "big" });
  await assert.rejects(server.patch(type, "left", { plan: "old" }), unsupported);
  for (const crd of crds) {
    const { spec } = await client.get<DynamicObject>(customResourceDefinitions, refOfObject(crd));
    const told = JSON.stringify(recordAt(spec)).replaceAll(/"rule":"[^}]*/g, "");
    assert.doesNotMatch(told, /The plan: [^"]*old/);
  }
});

test("a Composition that the table does not name has rules of its own where the table lets others make instances", async () => {
  const spec = { service: "other", plan: "huge" };
  const named = (name: string): object => ({ ...spec, compositionRef: { name } });
  const open = claimResource("OpenInstance");
  const unsupported = /Unsupported plan used for open/;
  await server.claim(open, "mine", named("mine"), undefined);
  await server.claim(open, "default", spec, unsupported);
  await server.claim(open, "a9s", named("a9s-open"), unsupported);
  await server.claim(open, "own", named("own-open"), unsupported);
  const strict = claimResource("StrictInstance");
  await server.claim(strict, "mine", named("mine"), /Unsupported plan used for strict/);
});
