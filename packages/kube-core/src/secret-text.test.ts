import assert from "node:assert/strict";
import { test } from "node:test";
import { secretText } from "./secret-text.ts";

test("the text of a Secret's key is decoded, and an absent, empty or binary one is undefined", () => {
  const secret = (data: unknown): { apiVersion: string; kind: string; metadata: object; data: unknown } => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {},
    data,
  });
  assert.equal(secretText(secret({ a: Buffer.from("grün").toString("base64") }), "a"), "grün");
  for (const data of [{}, { a: "" }, { a: 1 }, undefined, "a"]) {
    assert.equal(secretText(secret(data), "a"), undefined);
  }
  assert.equal(secretText(undefined, "a"), undefined);
});
