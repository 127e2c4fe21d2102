import assert from "node:assert/strict";
import { test } from "node:test";
import { artefact } from "@klutch/api";
import { listAt, numberAt, recordsAt, textAt } from "@klutch/kube-core";
import { operatorProgram } from "./config.ts";
import { operatorManifests } from "./manifests.ts";

const manifests = operatorManifests();

test("the operator reads Secrets by name only, changes no kinds or rights, and has no wildcard", () => {
  const rules = manifests.flatMap((one) => recordsAt(one, "rules"));
  const rights = rules.flatMap((rule) =>
    listAt(rule, "apiGroups").flatMap((group) =>
      listAt(rule, "resources").flatMap((of) =>
        listAt(rule, "verbs").map((verb) => `${String(verb)} ${String(of)}.${String(group)}`),
      ),
    ),
  );
  assert.ok(rights.length >= 30);
  for (const right of rights) {
    assert.ok(!right.includes("*"), right);
    assert.doesNotMatch(right, /^(?:list|watch) secrets|customresourcedefinitions|roles|escalate|bind /);
  }
});

test("the operator of this version is told the node's address and the ports that its Service opens there", async () => {
  const of = (kind: string): unknown => manifests.find((one) => one.kind === kind);
  const [container] = recordsAt(of("Deployment"), "spec", "template", "spec", "containers");
  assert.equal(textAt(container, "image"), artefact("a8s-operator"));
  const args = listAt(container, "args").map((arg) => String(arg).replace("$(NODE_ADDRESS)", "192.0.2.7"));
  const { reach } = await operatorProgram.readConfig({ args, env: {}, randomName: () => "x" });
  assert.deepEqual(reach, { listen: "0.0.0.0", host: "192.0.2.7", ports: { first: 30_050, last: 30_069 } });
  const nodePorts = recordsAt(of("Service"), "spec", "ports").map((port) => numberAt(port, "nodePort"));
  assert.deepEqual([nodePorts.length, nodePorts[0], nodePorts.at(-1)], [20, 30_050, 30_069]);
});
