import assert from "node:assert/strict";
import { test } from "node:test";
import { listAt, numberAt, recordsAt } from "@klutch/kube-core";
import { operatorProgram } from "./config.ts";
import { operatorManifests, operatorNamespaceRules, operatorRules } from "./manifests.ts";

test("the operator reads Secrets by name only, changes no kinds or rights, and has no wildcard", () => {
  const rights = [...operatorRules, ...operatorNamespaceRules].flatMap(
    ({ apiGroups = [], resources = [], verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((of) => verbs.map((verb) => `${verb} ${of}.${group}`))),
  );
  assert.ok(rights.length > 0);
  for (const right of rights) {
    assert.ok(!right.includes("*"), right);
    assert.doesNotMatch(right, /^(?:list|watch) secrets|customresourcedefinitions|roles|escalate|bind /);
  }
});

test("the operator is told the node's address and the ports that its Service opens there", async () => {
  const of = (kind: string): unknown => operatorManifests({ image: "none" }).find((one) => one.kind === kind);
  const [container] = recordsAt(of("Deployment"), "spec", "template", "spec", "containers");
  const args = listAt(container, "args").map((arg) => String(arg).replace("$(NODE_ADDRESS)", "192.0.2.7"));
  const { reach } = await operatorProgram.readConfig({ args, env: {}, randomName: () => "x" });
  assert.deepEqual(reach, { listen: "0.0.0.0", host: "192.0.2.7", ports: { first: 30_050, last: 30_069 } });
  const nodePorts = recordsAt(of("Service"), "spec", "ports").map((port) => numberAt(port, "nodePort"));
  assert.deepEqual([nodePorts.length, nodePorts[0], nodePorts.at(-1)], [20, 30_050, 30_069]);
});
