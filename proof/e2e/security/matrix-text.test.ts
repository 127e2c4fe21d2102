import assert from "node:assert/strict";
import { test } from "node:test";
import { type Cell, difference, layOut, matrixLines, without } from "./matrix-text.ts";
import { type Rule, rulesAllow, type Served } from "./rights.ts";

const served: readonly Served[] = [
  { group: "", resource: "pods", verbs: ["get", "list"] },
  { group: "", resource: "pods/exec", verbs: ["create"] },
  { group: "", resource: "pods/status", verbs: ["get", "patch"] },
  { group: "example.org", resource: "things", verbs: ["get"] },
];
const rule = (verbs: string, groups: string, resources: string, names = ""): Rule => ({
  verbs: verbs.split(" "),
  groups: groups.split(" "),
  resources: resources.split(" "),
  names: names === "" ? [] : names.split(" "),
});
const laidOut = (...rules: readonly Rule[]): Readonly<Record<string, string>> => {
  const found = [...layOut({ rules, urls: [] }, served)];
  return Object.fromEntries(found.map(([key, verbs]) => [key, [...verbs].join(" ")]));
};
const cell = (phase: string, place: string, verbs: string): Cell => ({
  scope: "one",
  phase,
  account: "somebody",
  place,
  verbs: new Map(verbs === "" ? [] : [["pods", new Set(verbs.split(" "))]]),
});

test("a wildcard is shown with every resource and subresource that it holds today, and as itself", () => {
  assert.deepEqual(laidOut(rule("*", "*", "*")), {
    pods: "* get list",
    "pods/exec": "* create",
    "pods/status": "* get patch",
    "things.example.org": "* get",
    "*.*": "*",
  });
  assert.deepEqual(laidOut({ ...rule("patch", "", "*/status"), groups: [""] }), {
    "pods/status": "patch",
    "*/status": "patch",
  });
});

test("a resource gives nothing of its subresources; a name and an unknown resource are shown", () => {
  const core = { ...rule("get", "", "pods"), groups: [""] };
  assert.deepEqual(laidOut(core, rule("delete", "example.org", "things others", "a")), {
    pods: "get",
    'things.example.org "a"': "delete",
    'others.example.org "a"': "delete",
  });
  assert.equal(rulesAllow([core], { verb: "get", group: "", resource: "pods/status" }), false);
  assert.equal(rulesAllow([{ ...core, names: ["x"] }], { verb: "get", group: "", resource: "pods" }), false);
});

test("one verb more in one phase changes a line, and the difference shows it", () => {
  const before = matrixLines([cell("before", "here", "get"), cell("after", "here", "get")]);
  assert.deepEqual(before, ["somebody | here | pods | get | always"]);
  const now = matrixLines([cell("before", "here", "get"), cell("after", "here", "list get")]);
  assert.deepEqual(difference(before, now), [
    "- somebody | here | pods | get | always",
    "+ somebody | here | pods | get | before",
    "+ somebody | here | pods | get list | after",
  ]);
});

test("a place without rights has a line too, and shows only what does not hold everywhere", () => {
  const wide = cell("before", "everywhere", "get");
  assert.equal(without(wide.verbs, wide.verbs).size, 0);
  const beyond = without(cell("before", "here", "get delete").verbs, wide.verbs);
  assert.deepEqual([...(beyond.get("pods") ?? [])], ["delete"]);
  assert.deepEqual(matrixLines([cell("before", "here", "")]), [
    "somebody | here | nothing more | - | always",
  ]);
});
