import assert from "node:assert/strict";
import { test } from "node:test";
import { isRecord } from "./is-record.ts";

test("JSON objects are records; lists, texts, numbers and null are not", () => {
  for (const value of [{}, { a: 1 }, JSON.parse('{"__proto__": 1}'), Object.create(null)])
    assert.ok(isRecord(value));
  for (const value of [[], [{}], "text", "", 1, true, null, undefined]) assert.ok(!isRecord(value));
});
