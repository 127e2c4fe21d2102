import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeObject, parseJson } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { BodyShelf } from "./body.ts";

function object(name: string, text: string): DynamicObject {
  const json = `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"${name}"},"spec":{"big":9223372036854775807,"text":"${text}"}}`;
  return decodeObject<DynamicObject>(parseJson(json, "test"), "test");
}

test("packing keeps every value, also numbers that no double can hold", () => {
  const body = new BodyShelf().put(object("a", "text"));
  const before = JSON.stringify(body.read());
  body.pack();
  assert.equal(JSON.stringify(body.read()), before);
  assert.match(before, /9223372036854775807/);
  body.drop();
  assert.equal(body.read(), undefined);
});

test("many bodies on a shelf stay readable", () => {
  const shelf = new BodyShelf();
  const bodies = Array.from({ length: 500 }, (_, index) => shelf.put(object(`n${index}`, "text")));
  for (const [index, body] of bodies.entries()) assert.equal(body.read()?.metadata.name, `n${index}`);
});

test("what no longer fits is dropped, and room that is given back is used again", () => {
  const shelf = new BodyShelf({ unpacked: 1, packedLength: 2_500 });
  const bodies = ["a", "b", "c", "d"].map((name) => shelf.put(object(name, "x".repeat(1_000))));
  const kept = (): (string | undefined)[] => bodies.map((body) => body.read()?.metadata.name);
  assert.deepEqual(kept(), ["a", "b", undefined, "d"]);
  bodies[0]?.drop();
  bodies[0]?.drop();
  bodies.push(shelf.put(object("e", "x".repeat(1_000))));
  assert.deepEqual(kept(), [undefined, "b", undefined, "d", "e"]);
  bodies.push(shelf.put(object("f", "x".repeat(1_000))));
  assert.deepEqual(kept(), [undefined, "b", undefined, "d", undefined, "f"]);
});
