import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePlacedYaml } from "@klutch/kube";
import { customResourceDefinitions, type DynamicObject, recordAt, refOfObject } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { claimResource } from "./data-service.ts";
import { dataServiceOf } from "./table/data-service-of.ts";
import { readTable } from "./table/read-table.ts";
import { claimCrd } from "./testing/claim-crd.ts";
import { startClaimServer } from "./testing/claim-server.ts";
import type { CompositeResourceDefinition } from "./xrd.ts";
import { instanceXrd } from "./xrds.ts";

/** A table of two backends, with what the first says of its oldest plan and what the table says besides. */
function definitionOf(type: string, old: string, more = ""): CompositeResourceDefinition {
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
  return instanceXrd(dataServiceOf(table));
}

const server = await startClaimServer("choices", [
  definitionOf("aging", ""),
  definitionOf("strict", ""),
  definitionOf("open", "", "otherCompositions: true"),
]);
const { client } = server;

test("a plan that was retired stays where it is, can be left, and cannot be chosen", async () => {
  const type = claimResource("AgingInstance");
  const ref = { namespace: "a", name: "kept" };
  await server.create(type, "kept", { service: "one", plan: "old" });
  await server.create(type, "left", { service: "one", plan: "old" });
  const crd = claimCrd(definitionOf("aging", ", retired: true"));
  await client.apply(customResourceDefinitions, crd, { fieldManager: "test", force: true });
  const unsupported = /Unsupported plan used for aging: spec\.plan is "old"; possible: small, big/;
  await waitFor("the newer definition", () =>
    client
      .create<DynamicObject>(
        type,
        {
          apiVersion: `${type.group}/${type.version}`,
          kind: type.kind,
          metadata: { namespace: "a", name: "tried" },
          spec: { service: "one", plan: "old" },
        },
        { dryRun: true },
      )
      .then(
        () => false,
        (error: unknown) => {
          assert.match(String(error), unsupported);
          return true;
        },
      ),
  );
  await client.mergePatch(type, ref, { spec: { parameters: { words: "others" } } });
  const left = { namespace: "a", name: "left" };
  await client.mergePatch(type, left, { spec: { plan: "big" } });
  await assert.rejects(client.mergePatch(type, left, { spec: { plan: "old" } }), unsupported);
  const { spec } = await client.get<DynamicObject>(customResourceDefinitions, refOfObject(crd));
  assert.doesNotMatch(JSON.stringify(recordAt(spec)).replaceAll(/"rule":"[^}]*/g, ""), /The plan: [^"]*old/);
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
