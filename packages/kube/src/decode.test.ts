import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeError, decodeList, decodeObject, parseJson } from "./decode.ts";
import { isGone, TransportError } from "./errors.ts";

test("a whole number beyond 2^53 survives being read and written again", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (number) => {
      const text = `{"spec":{"list":[${number}],"n":${number}}}`;
      assert.equal(JSON.stringify(parseJson(text, "object")), text);
    }),
  );
});

test("small numbers, fractions and digits in strings stay ordinary values", () => {
  const text = '{"a":1,"b":0.25,"c":"12345678901234567890","d":1e21,"e":[9007199254740991]}';
  assert.deepEqual(parseJson(text, "object"), {
    a: 1,
    b: 0.25,
    c: "12345678901234567890",
    d: 1e21,
    e: [9007199254740991],
  });
});

test("a key named __proto__ becomes an own field and changes no prototype", () => {
  const value = parseJson('{"metadata":{},"__proto__":{"polluted":1},"n":12345678901234567890}', "object");
  assert.ok(typeof value === "object" && value !== null);
  assert.ok(Object.hasOwn(value, "__proto__"));
  assert.ok(!("polluted" in value));
});

test("what is not JSON is named with its beginning", () => {
  assert.throws(() => parseJson("<html>proxy</html>", "get Secret a/b"), {
    code: "Decode",
    message: /get Secret a\/b is not JSON: <html>/,
  });
  assert.throws(() => decodeObject({ kind: "X" }, "answer"), TransportError);
});

test("list items get the apiVersion and kind that the server leaves out", () => {
  const text =
    '{"apiVersion":"v1","metadata":{"resourceVersion":"7","continue":""},"items":[{"metadata":{"name":"a"}}]}';
  assert.deepEqual(decodeList(text, "list", "Secret"), {
    resourceVersion: "7",
    continueToken: undefined,
    length: text.length,
    items: [{ apiVersion: "v1", kind: "Secret", metadata: { name: "a" } }],
  });
});

test("an error answer keeps reason and Retry-After, from the header or the status", () => {
  const status = JSON.stringify({ reason: "Expired", message: "too old", details: { retryAfterSeconds: 3 } });
  const error = decodeError(410, status, undefined, "watch secrets");
  assert.ok(isGone(error));
  assert.equal(error.retryAfterMs, 3000);
  assert.equal(error.message, "watch secrets: too old");
  assert.equal(decodeError(503, "", "2", "get").retryAfterMs, 2000);
  assert.equal(decodeError(502, "bad gateway", undefined, "get").message, "get: bad gateway");
});

test("metadata of the wrong types is as if it had not been sent", () => {
  const owner = { apiVersion: "v1", kind: "Namespace", name: "a", uid: "u" };
  const good = {
    name: "a",
    labels: { team: "x" },
    finalizers: ["f"],
    ownerReferences: [owner],
    managedFields: [{ manager: "m" }],
    generation: 3,
  };
  const object = { metadata: good, spec: 1 };
  assert.equal(decodeObject(object, "x"), object);
  const wrong = {
    name: "a",
    namespace: 5,
    uid: ["u"],
    labels: { team: 1 },
    annotations: "x",
    finalizers: { length: 1 },
    ownerReferences: [owner, null],
    deletionTimestamp: null,
  };
  assert.deepEqual(decodeObject({ metadata: wrong, spec: 1 }, "x"), { metadata: { name: "a" }, spec: 1 });
});
