import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChainResult, judge, leadsTo } from "./judge.ts";
import { databaseOf, type Entry, type Table } from "./ledger.ts";

const chain: ChainResult = {
  name: "c",
  database: databaseOf("id"),
  formerIds: [],
  managedUids: ["id"],
  lost: [],
  seconds: 1,
};
const made = (table: Table, id: string, instanceId = "id"): Entry => ({
  table,
  did: "INSERT",
  id,
  instanceId,
});
const whole = [made("instances", "id"), made("bindings", "b"), made("backups", "1"), made("restores", "1")];

test("a chain with one of each is judged well", () => {
  assert.deepEqual(judge([chain], whole), { lost: [], double: [], undone: [] });
});

test("a second backup, an instance of no chain, and a missing restore are reported", () => {
  assert.deepEqual(judge([chain], [...whole, made("backups", "2")]).double, [
    "c: 2 backups (INSERT instances id, INSERT bindings b, INSERT backups 1, INSERT restores 1, INSERT backups 2)",
  ]);
  assert.deepEqual(judge([chain], [...whole, made("instances", "x", "x")]).double, [
    "instance x was made for no chain (INSERT instances x)",
  ]);
  assert.deepEqual(judge([chain], whole.slice(0, 3)).lost, ["c: 0 restores"]);
  assert.deepEqual(judge([chain], []).lost, ["c: no instance"]);
});

test("a Secret that is empty, or leads elsewhere than to the chain's database, is told from one that leads there", () => {
  assert.ok(leadsTo("postgres://u:p@127.0.0.1:1/d", "d"));
  for (const uri of [
    undefined,
    "",
    "nonsense",
    "postgres://u:p@127.0.0.1:1/",
    "postgres://u:p@127.0.0.1:1/e",
  ])
    assert.ok(!leadsTo(uri, "d"), String(uri));
  assert.ok(!leadsTo("postgres://u:p@127.0.0.1:1/d", undefined));
});

test("what its user missed counts", () => {
  assert.deepEqual(judge([{ ...chain, lost: ["rows"] }], whole).lost, ["c: rows"]);
});

test("an instance that was removed unused before the next one was made is undone, and is a second one in any other case", () => {
  const later = { ...chain, formerIds: ["x"] };
  const [first, gone] = [
    made("instances", "x", "x"),
    { ...made("instances", "x", "x"), did: "DELETE" as const },
  ];
  const second = (history: string) => [`instance x was made for no chain (${history})`];
  const removed = "INSERT instances x, DELETE instances x";
  const told = (...entries: readonly Entry[]) => {
    const { double, undone } = judge([later], entries);
    return { double: double.map((text) => text.replace(/;.*/u, "")), undone };
  };
  assert.deepEqual(told(first, gone, ...whole), { double: [], undone: ["c: instance x"] });
  assert.deepEqual(told(first, ...whole, gone), { double: second(removed), undone: [] });
  const twice = [made("instances", "y", "y"), { ...made("instances", "y", "y"), did: "DELETE" as const }];
  const both = { ...chain, formerIds: ["x", "y"] };
  const { double, undone } = judge([both], [first, gone, ...twice, ...whole]);
  assert.deepEqual({ double, undone }, { double: [], undone: ["c: instance x", "c: instance y"] });
  assert.deepEqual(told(first, ...whole), { double: second("INSERT instances x"), undone: [] });
  assert.deepEqual(told(first, made("bindings", "y", "x"), gone, ...whole), {
    double: second("INSERT instances x, INSERT bindings y, DELETE instances x"),
    undone: [],
  });
  assert.deepEqual(judge([chain], [first, gone, ...whole]).double, second(removed));
});

test("an instance that another managed resource made after the chain's was gone, and that went unused, is undone, and is a second one in any other case", () => {
  const end = { ...made("instances", "id"), did: "DELETE" as const };
  const [again, gone] = [
    made("instances", "x", "x"),
    { ...made("instances", "x", "x"), did: "DELETE" as const },
  ];
  const told = (...entries: readonly Entry[]) =>
    judge([{ ...chain, managedUids: ["id", "x"] }], [...whole, ...entries]);
  assert.deepEqual(told(end, again, gone), { lost: [], double: [], undone: ["c: instance x"] });
  for (const wrong of [
    [again, end, gone],
    [again, gone, end],
    [again, gone],
    [end, again],
    [end, again, made("bindings", "y", "x"), gone],
  ])
    assert.equal(told(...wrong).double.length, 1);
  assert.equal(judge([chain], [...whole, end, again, gone]).double.length, 1);
  assert.match(
    told(again, end, gone).double.join(),
    /; c had the former ids none and the managed resources id, x: INSERT instances id, .*, INSERT instances x, DELETE instances id, DELETE instances x$/,
  );
});

test("a binding that was removed and made again before the first backup is undone, and is a second one in any other case", () => {
  const [instance, bound, backup, restore] = whole;
  assert.ok(instance && bound && backup && restore);
  const unbound = { ...bound, did: "DELETE" as const };
  const told = (...entries: readonly Entry[]) => judge([chain], entries);
  const again = told(instance, { ...bound }, unbound, bound, backup, restore);
  assert.deepEqual(again, { lost: [], double: [], undone: ["c: binding b"] });
  assert.deepEqual(told(...whole, unbound), { lost: [], double: [], undone: [] });
  assert.equal(told(instance, bound, backup, unbound, bound, restore).double.length, 1);
  assert.equal(told(instance, bound, made("bindings", "other"), backup, restore).double.length, 1);
  assert.deepEqual(told(instance, bound, unbound, backup, restore).lost, ["c: 0 bindings"]);
});
