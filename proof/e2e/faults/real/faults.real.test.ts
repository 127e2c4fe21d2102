/** The agent as a process between two real API servers, while agent, API servers, etcd and the wires between them fail. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { planOf } from "./plan.ts";
import { runSeed } from "./run-seed.ts";
import { startFixture } from "./fixture.ts";

const seeds = [1, 2];
const fixture = await startFixture();
after(() => fixture[Symbol.asyncDispose]());

for (const seed of seeds) {
  test(`seed ${seed}: nothing acknowledged is lost, and both clusters converge`, async (t) => {
    const { claims, settleMs, agentWrites } = await runSeed(fixture, planOf(seed));
    t.diagnostic(`${claims} claims, ${agentWrites} writes, settled after ${Math.round(settleMs)} ms`);
    assert.ok(claims > 0);
    assert.ok(agentWrites > 0, "the audit log must show the agent");
  });
}
