import assert from "node:assert/strict";
import { test } from "node:test";
import { adoptedContent } from "./adoption.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import { isDnsLabel } from "@klutch/kube-core";
import { type DoubtedMapping, isSystemNamespace, judgeMapping } from "./mapping-rules.ts";
import { providerWidget, tenant } from "./testing/objects.ts";

const usual: DoubtedMapping = {
  tenant,
  consumerNamespace: "app",
  providerNamespace: "cluster-a-app",
  sharers: ["app"],
  proof: undefined,
};

test("a mapping counts when its service namespace is this tenant's, and says why when it does not", () => {
  assert.deepEqual(judgeMapping(usual), { state: "ready", providerNamespace: "cluster-a-app" });
  const refused: readonly (readonly [Partial<DoubtedMapping>, RegExp])[] = [
    [{ providerNamespace: "../secrets" }, /does not hold valid names/],
    [{ providerNamespace: `${"x".repeat(64)}` }, /does not hold valid names/],
    [{ consumerNamespace: "App" }, /does not hold valid names/],
    [{ providerNamespace: tenant.namespace }, /cluster namespace itself/],
    [{ sharers: ["app", "other"] }, /another namespace/],
    [{ providerNamespace: "cluster-b-app" }, /no annotation that says/],
    [{ providerNamespace: "cluster-a-other", proof: "cluster-a/other" }, /no annotation that says/],
  ];
  for (const [change, why] of refused) {
    const mapping = judgeMapping({ ...usual, ...change });
    assert.ok(mapping.state === "pending", JSON.stringify(change));
    assert.match(mapping.why ?? "", why);
  }
});

test("a service namespace of another name counts when its annotation names this tenant and namespace", () => {
  const proven = { ...usual, providerNamespace: "mirror-7", proof: "cluster-a/app" };
  assert.deepEqual(judgeMapping(proven), { state: "ready", providerNamespace: "mirror-7" });
});

test("namespaces of Kubernetes and of Klutch are system namespaces, default is not", () => {
  for (const name of ["kube-system", "kube-public", "klutch-bind", "klutch-system"])
    assert.ok(isSystemNamespace(name));
  for (const name of ["default", "kubeflow", "klutch", "app"]) assert.ok(!isSystemNamespace(name));
  for (const name of ["", "-a", "a-", "a.b", "a/b", "A", "a\n"]) assert.ok(!isDnsLabel(name), name);
});

test("an adopted object brings no labels or annotations that steer the app cluster's machinery", () => {
  const entries = {
    team: "red",
    "pod-security.kubernetes.io/enforce": "privileged",
    "argocd.argoproj.io/instance": "x",
  };
  const provider = providerWidget({}, { labels: entries, annotations: entries });
  const { metadata } = adoptedContent(provider, { namespace: "app", name: "w" }, defaultMetadataRule);
  assert.deepEqual(metadata.labels, { team: "red" });
  assert.deepEqual(metadata.annotations, {
    team: "red",
    "klutch.anynines.com/bound": "true",
    "klutch.anynines.com/adopted": "true",
    "klutch.anynines.com/restored": "true",
  });
});
