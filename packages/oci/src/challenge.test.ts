import assert from "node:assert/strict";
import { test } from "node:test";
import { parseChallenges } from "./challenge.ts";

const read = (header: string): unknown =>
  parseChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);

test("challenges are read as registries write them", () => {
  assert.deepEqual(
    read('Bearer realm="https://a.example.org/token?x=1,2",service="b c",scope="repository:x:pull,push"'),
    [
      [
        "bearer",
        { realm: "https://a.example.org/token?x=1,2", service: "b c", scope: "repository:x:pull,push" },
      ],
    ],
  );
  assert.deepEqual(read('Basic realm="a \\"b\\"", BEARER Realm=plain , service = "s"'), [
    ["basic", { realm: 'a "b"' }],
    ["bearer", { realm: "plain", service: "s" }],
  ]);
  assert.deepEqual(read("Negotiate"), [["negotiate", {}]]);
});

test("a header that is no challenge gives none, however long it is", () => {
  assert.deepEqual(read(""), []);
  assert.deepEqual(read('"'), []);
  assert.deepEqual(read('realm="x"'), []);
  assert.equal(parseChallenges(`Bearer realm="${"\\".repeat(20_000)}`).length > 0, true);
  assert.deepEqual(read("=".repeat(100_000)), []);
});
