/** A cluster of each pinned version of Kubernetes says that it is of this version; so the matrix of the long tests tries what it names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesVersions } from "@klutch/engines";
import { textAt } from "@klutch/kube-core";
import { startCluster } from "./cluster.ts";

for (const kubernetes of kubernetesVersions)
  test(`a cluster of ${kubernetes} says so`, async () => {
    await using cluster = await startCluster({ name: kubernetes, controllerManager: true, kubernetes });
    const answer = await cluster.client.request({ method: "GET", path: "/version" });
    assert.equal(textAt(answer, "gitVersion"), kubernetes);
  });
