import assert from "node:assert/strict";
import { test } from "node:test";
import { isRecord } from "@klutch/kube-core";
import type { Tamper } from "./agent.ts";
import { simulateTenant } from "./simulate-tenant.ts";

const from = 1;
const to = 2;

for (let seed = from; seed <= to; seed++) {
  test(`seed ${seed}: a hostile app cluster changes nothing of another one and sees nothing of it`, async () => {
    const { broken } = await simulateTenant(seed);
    assert.deepEqual(broken, [], `replay with: npm run faults -- --liar --seed ${seed} --story`);
  });
}

test("an agent that writes into another tenant's namespace is noticed", async () => {
  const tamper: Tamper = (side, verb, type, body) =>
    side === "provider" && verb === "apply" && type.plural === "databases" && isRecord(body)
      ? { ...body, metadata: { namespace: "cluster-2-app", name: "a" } }
      : body;
  const { broken } = await simulateTenant(1, { tamper });
  assert.ok(
    broken.some((line) => line.includes("on the provider in the other's place shows what is the liar's")),
    broken.join("\n"),
  );
});
