import assert from "node:assert/strict";
import { test } from "node:test";
import { allEngineNames, engineNames, nodeEngineNames } from "@klutch/engines";
import { codeWords, rowsIn } from "../generate/page.ts";
import { enginesFor } from "./engines.ts";

test("only the servers that the chosen tests need are obtained", () => {
  const cluster = ["kube-apiserver", "kube-controller-manager", "etcd"];
  assert.deepEqual(enginesFor(["packages/kube/src/client.real.test.ts"]), cluster);
  assert.deepEqual(enginesFor(["apps/konnector/src/whole-agent/konnector.real.test.ts"]), cluster);
  assert.deepEqual(enginesFor(["proof/e2e/faults/chains/chains.long.test.ts"]), engineNames);
  assert.deepEqual(enginesFor(["proof/e2e/a8s-chain.long.test.ts"]), [...engineNames, "provider-kubernetes"]);
  assert.deepEqual(enginesFor(["proof/e2e/foreign-provider.long.test.ts"]), [...engineNames, "provider-nop"]);
  assert.deepEqual(enginesFor(["proof/e2e/from-catalog.long.test.ts"]), [
    ...engineNames,
    "cloud-service-broker",
    "opentofu",
  ]);
  const operators = ["kube-apiserver", "kube-controller-manager", "kubectl", "etcd"];
  assert.deepEqual(enginesFor(["proof/e2e/foreign-operator.long.test.ts"]), [...operators, "cert-manager"]);
  assert.deepEqual(enginesFor(["proof/e2e/foreign-operator-s3.long.test.ts"]), [
    ...operators,
    "s3-controller",
  ]);
  assert.deepEqual(enginesFor(["sandbox/broker/src/broker.real.test.ts"]), []);
  assert.deepEqual(enginesFor(["packages/oci/src/push.real.test.ts", "sandbox/broker/src/x.real.test.ts"]), [
    "crane",
  ]);
  assert.deepEqual(enginesFor(["proof/e2e/whole-way.real.test.ts", "packages/oci/src/x.real.test.ts"]), [
    ...engineNames,
    "versitygw",
  ]);
  assert.deepEqual(enginesFor(["sandbox/engines/src/node-engines.long.test.ts"]), nodeEngineNames);
  assert.deepEqual(
    new Set(enginesFor(["proof/e2e/install-on-nodes.long.test.ts"])),
    new Set([...engineNames, ...nodeEngineNames, "helm"]),
  );
  assert.deepEqual(enginesFor(["proof/e2e/gitops/states.long.test.ts"]), ["judges"]);
  assert.deepEqual(enginesFor(["sandbox/engines/src/helm.real.test.ts"]), ["helm"]);
  assert.deepEqual(enginesFor(["tools/docs/install.real.test.ts"]), ["helm"]);
  assert.deepEqual(enginesFor(["proof/e2e/gitops/living.long.test.ts"]), [...engineNames, "judges"]);
});

test("every server of the table exists", () => {
  const groups = ["cluster", "usual", "nodes"];
  const names = rowsIn("tools/test/engines.md").flatMap(([, servers = ""]) => codeWords(servers));
  assert.ok(names.length > 20);
  for (const name of names) assert.ok([...groups, ...allEngineNames].includes(name), name);
});
