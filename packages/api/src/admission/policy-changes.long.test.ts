/** Before Kubernetes 1.36 an API server ended after about ten of these changes when expressions read variables by their types. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isForbidden } from "@klutch/kube";
import { configMaps } from "@klutch/kube-core";
import { applyPolicies } from "@klutch/kube-testing";
import type { KonnectorScope } from "./konnector-scope.ts";
import { konnectorPolicyManifests } from "./konnector.ts";
import { configMap, startConfinedAgent } from "./testing/confined-agent.ts";

const { admin, agent, confine } = await startConfinedAgent();
const changes = 40;
const writers = 8;

const scopeOf = (api: string): KonnectorScope => ({ apis: [api], claims: [], secretTypes: [] });
const write = (name: string): Promise<unknown> => agent.create(configMaps, configMap("team", name, {}));

test("an API server outlives policies that change under writes", { timeout: 600_000 }, async () => {
  let attempts = 0;
  await confine(scopeOf("widgets.example.org"), () =>
    write(`early-${attempts++}`).then(() => false, isForbidden),
  );
  let isChanging = true;
  let refusals = 0;
  const writeOften = async (): Promise<void> => {
    while (isChanging) {
      await assert.rejects(write("refused"), isForbidden);
      refusals++;
    }
  };
  const change = async (): Promise<void> => {
    try {
      for (let nth = 0; nth < changes; nth++)
        await applyPolicies(admin, konnectorPolicyManifests(scopeOf(`widgets${nth}.example.org`)));
    } finally {
      isChanging = false;
    }
  };
  await Promise.all([change(), ...Array.from({ length: writers }, writeOften)]);
  assert.ok(refusals >= changes * writers, `${refusals} writes beside ${changes} changes`);
});
