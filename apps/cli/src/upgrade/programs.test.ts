import assert from "node:assert/strict";
import { test } from "node:test";
import { lookAtKubernetes } from "./programs.ts";
import type { ClusterReader } from "./reader.ts";

/** A server that says so of itself; there is none so old to be had. */
function serverOf(answer: unknown): ClusterReader {
  return { list: async () => [], find: async () => undefined, get: async () => answer, unread: [] };
}

test("a cluster that is too old blocks the upgrade, with its version and what would be right", async () => {
  for (const gitVersion of ["v1.29.15", "v1.27.3-gke.100", "v0.9.0"]) {
    const { against } = await lookAtKubernetes(serverOf({ gitVersion }));
    const expected = "Kubernetes v1.30 or newer";
    assert.deepEqual(against, [{ object: "API server", field: "version", value: gitVersion, expected }]);
  }
});

test("one that does not tell its version stands against it, too, and one that is new enough does not", async () => {
  for (const answer of [{}, undefined, { gitVersion: 1 }, { gitVersion: "latest" }])
    assert.equal((await lookAtKubernetes(serverOf(answer))).against.length, 1);
  const { against, running } = await lookAtKubernetes(serverOf({ gitVersion: "v1.30.0+k3s1" }));
  assert.deepEqual(against, []);
  assert.equal(running[0]?.version, "v1.30.0+k3s1");
});
