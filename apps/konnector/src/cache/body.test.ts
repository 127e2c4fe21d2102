import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeObject, type DynamicObject, parseJson } from "@klutch/kube";
import { Body, BodyShelf } from "./body.ts";

function object(name: string, text: string): DynamicObject {
  const json = `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"${name}"},"spec":{"big":9223372036854775807,"text":"${text}"}}`;
  return decodeObject<DynamicObject>(parseJson(json, "test"), "test");
}

test("packing keeps every value, large and small, also numbers that no double can hold", () => {
  for (const text of ["short", "x".repeat(50_000)]) {
    const body = new Body(object("a", text));
    const before = JSON.stringify(body.read());
    body.pack();
    assert.equal(JSON.stringify(body.read()), before);
    assert.match(JSON.stringify(body.read()), /9223372036854775807/);
    body.drop();
    assert.equal(body.read(), undefined);
  }
});

test("many bodies on a shelf stay readable", () => {
  const shelf = new BodyShelf();
  const bodies = Array.from({ length: 500 }, (_, index) => shelf.put(object(`n${index}`, "text")));
  for (const [index, body] of bodies.entries()) assert.equal(body.read()?.metadata.name, `n${index}`);
});
