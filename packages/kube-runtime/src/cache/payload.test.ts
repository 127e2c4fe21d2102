import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeObject, parseJson } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { PayloadCache } from "./payload.ts";

function object(name: string, text: string): DynamicObject {
  const json = `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"${name}"},"spec":{"big":9223372036854775807,"text":"${text}"}}`;
  return decodeObject<DynamicObject>(parseJson(json, "test"), "test");
}

test("packing keeps every value, also numbers that no double can hold", () => {
  const payload = new PayloadCache().add(object("a", "text"));
  const before = JSON.stringify(payload.read());
  payload.pack();
  assert.equal(JSON.stringify(payload.read()), before);
  assert.match(before, /9223372036854775807/);
  payload.drop();
  assert.equal(payload.read(), undefined);
});

test("many payloads of one cache stay readable", () => {
  const payloadCache = new PayloadCache();
  const payloads = Array.from({ length: 500 }, (_, index) => payloadCache.add(object(`n${index}`, "text")));
  for (const [index, payload] of payloads.entries()) assert.equal(payload.read()?.metadata.name, `n${index}`);
});

test("what no longer fits is dropped, and room that is given back is used again", () => {
  const payloadCache = new PayloadCache({ unpacked: 1, packedLength: 2_500 });
  const payloads = ["a", "b", "c", "d"].map((name) => payloadCache.add(object(name, "x".repeat(1_000))));
  const kept = (): (string | undefined)[] => payloads.map((payload) => payload.read()?.metadata.name);
  assert.deepEqual(kept(), ["a", "b", undefined, "d"]);
  payloads[0]?.drop();
  payloads[0]?.drop();
  payloads.push(payloadCache.add(object("e", "x".repeat(1_000))));
  assert.deepEqual(kept(), [undefined, "b", undefined, "d", "e"]);
  payloads.push(payloadCache.add(object("f", "x".repeat(1_000))));
  assert.deepEqual(kept(), [undefined, "b", undefined, "d", undefined, "f"]);
});
