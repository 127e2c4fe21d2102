import assert from "node:assert/strict";
import { test } from "node:test";
import { callsOf } from "./agent.ts";

const call = (verb: string, resource: string, count: number): Parameters<typeof callsOf>[0][number] => ({
  verb,
  resource,
  code: "200",
  count,
});

test("calls of one kind are told apart by what they write, and those of others do not count", () => {
  const all = [
    call("PATCH", "g/widgets/status", 20),
    call("APPLY", "g/widgets", 10),
    call("GET", "g/widgets", 5),
    call("WATCH", "g/widgets", 1),
    call("LIST", "g/widgets", 1),
    call("PATCH", "g/widget1s/status", 7),
  ];
  assert.equal(callsOf(all, "g/widgets", 10), "2.00, 1.00, 0.50");
});
