import assert from "node:assert/strict";
import { test } from "node:test";
import { apiServiceBindings } from "@klutch/api";
import { conditionsOf, recordAt, textAt } from "@klutch/kube-core";
import type { Distort } from "./agent.ts";
import { simulateHostile } from "./simulate-hostile.ts";
import { forgedReason } from "./taken-over.ts";

for (const seed of [1, 2]) {
  test(`seed ${seed}: beside an agent in foreign hands, healthy agents let nothing cross that no person accepted`, async () => {
    const { broken } = await simulateHostile(seed, { takenOver: true });
    assert.deepEqual(broken, [], `replay with: npm run faults -- --taken-over --seed ${seed} --story`);
  });
}

test("an agent that takes the status of a binding for what people accepted is noticed", async () => {
  const misread: Distort = (type, object) => {
    if (type.plural !== apiServiceBindings.plural) return object;
    const forged = conditionsOf(object).find(({ reason }) => reason === forgedReason);
    const permissionClaims: unknown = JSON.parse(textAt(forged, "message") ?? "null");
    return permissionClaims === null
      ? object
      : { ...object, spec: { ...recordAt(object, "spec"), permissionClaims } };
  };
  const { broken } = await simulateHostile(2, { takenOver: true, misread });
  assert.ok(
    broken.some((line) => line.includes("a secret of the app cluster goes to the provider")),
    broken.join("\n"),
  );
});
