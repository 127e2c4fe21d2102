import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChainResult, judge } from "./judge.ts";
import { databaseOf, type Entry, type Table } from "./ledger.ts";

const chain: ChainResult = { name: "c", database: databaseOf("id"), lost: [], seconds: 1 };
const made = (table: Table, id: string, instanceId = "id"): Entry => ({
  table,
  did: "INSERT",
  id,
  instanceId,
});
const whole = [made("instances", "id"), made("bindings", "b"), made("backups", "1"), made("restores", "1")];

test("a chain with one of each is judged well", () => {
  assert.deepEqual(judge([chain], whole), { lost: [], double: [] });
});

test("a second backup, an instance that nobody has, and a restore that never was are told", () => {
  assert.deepEqual(judge([chain], [...whole, made("backups", "2")]).double, ["c: 2 backups (1, 2)"]);
  assert.deepEqual(judge([chain], [...whole, made("instances", "x", "x")]).double, [
    "instance x was made for no chain",
  ]);
  assert.deepEqual(judge([chain], whole.slice(0, 3)).lost, ["c: 0 restores"]);
  assert.deepEqual(judge([chain], []).lost, ["c: no instance"]);
});

test("what its user missed counts", () => {
  assert.deepEqual(judge([{ ...chain, lost: ["rows"] }], whole).lost, ["c: rows"]);
});
