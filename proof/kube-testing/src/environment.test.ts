import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesVersions } from "@klutch/engines";
import { chosenKubernetes } from "./environment.ts";

const [pinned] = kubernetesVersions;
const oldest = kubernetesVersions[kubernetesVersions.length - 1] ?? pinned;

test("clusters have the pinned version of Kubernetes, the one that is named, or one for each side", () => {
  assert.deepEqual(chosenKubernetes(""), { controlPlane: pinned, appCluster: pinned });
  assert.deepEqual(chosenKubernetes(oldest), { controlPlane: oldest, appCluster: oldest });
  assert.deepEqual(chosenKubernetes(`${oldest},${pinned}`), { controlPlane: oldest, appCluster: pinned });
});

test("a version that is not pinned is refused with those that are", () => {
  assert.throws(() => chosenKubernetes("1.30"), {
    name: "RangeError",
    message: `KLUTCH_KUBERNETES: "1.30" is no pinned version; choose from ${kubernetesVersions.join(", ")}`,
  });
  assert.throws(() => chosenKubernetes([pinned, pinned, oldest].join(",")), /more than two versions/);
});
