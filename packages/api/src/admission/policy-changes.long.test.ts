/** Before Kubernetes 1.36 an API server ended within 20 seconds of this when expressions read variables by their types. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isForbidden } from "@klutch/kube";
import { configMaps } from "@klutch/kube-core";
import { applyPolicies } from "@klutch/kube-testing";
import type { KonnectorScope } from "./konnector-scope.ts";
import { konnectorPolicyManifests } from "./konnector.ts";
import { configMap, startConfinedAgent } from "./testing/confined-agent.ts";

const { admin, agent, confine } = await startConfinedAgent();
const durationMs = 60_000;
const writers = 8;

const scopeOf = (api: string): KonnectorScope => ({ apis: [api], claims: [], secretTypes: [] });
const write = (name: string): Promise<unknown> => agent.create(configMaps, configMap("team", name, {}));

test("an API server outlives policies that change while the agent writes", {
  timeout: 5 * durationMs,
}, async () => {
  let attempts = 0;
  await confine(scopeOf("widgets.example.org"), () =>
    write(`early-${attempts++}`).then(() => false, isForbidden),
  );
  const end = Date.now() + durationMs;
  let changes = 0;
  let refusals = 0;
  const change = async (): Promise<void> => {
    while (Date.now() < end)
      await applyPolicies(admin, konnectorPolicyManifests(scopeOf(`widgets${changes++}.example.org`)));
  };
  const writeOften = async (): Promise<void> => {
    while (Date.now() < end) {
      await assert.rejects(write("refused"), isForbidden);
      refusals++;
    }
  };
  await Promise.all([change(), ...Array.from({ length: writers }, writeOften)]);
  console.log(`${changes} policies and ${refusals} refused writes in ${durationMs / 1000} s`);
  assert.ok(changes > 10 && refusals > 100, `${changes} policies, ${refusals} refusals`);
});
