import assert from "node:assert/strict";
import { test } from "node:test";
import { changeOf } from "./streams.ts";

test("a change holds the rows that came or changed and the ids of those that went", () => {
  const old = new Map([
    ["a", '{"id":"a"}'],
    ["b", '{"id":"b"}'],
    ["c", '{"id":"c"}'],
  ]);
  const next = new Map([
    ["a", '{"id":"a"}'],
    ["b", '{"id":"b","x":1}'],
    ["d", '{"id":"d"}'],
  ]);
  assert.deepEqual(JSON.parse(changeOf("clusters", old, next) ?? ""), {
    collection: "clusters",
    upserts: [{ id: "b", x: 1 }, { id: "d" }],
    removed: ["c"],
  });
});

test("nothing is sent when nothing changed", () => {
  const old = new Map([["a", "{}"]]);
  assert.equal(changeOf("clusters", old, old), undefined);
  assert.equal(changeOf("clusters", old, new Map(old)), undefined);
});
