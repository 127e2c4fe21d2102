import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeError, decodeList, decodeObject, parseJson } from "./decode.ts";
import { failureOutline, isGone, TransportError } from "./errors.ts";

test("text that is not JSON is named by its length, and no word of it is quoted", () => {
  assert.throws(() => parseJson("<html>hunter2</html>", "get Secret a/b"), {
    code: "Decode",
    message: "get Secret a/b is not JSON (20 characters)",
  });
  assert.throws(() => decodeObject({ kind: "X" }, "answer"), TransportError);
});

test("a whole number beyond 2^53 keeps its digits", () => {
  assert.equal(JSON.stringify(parseJson('{"n":9007199254740993}', "object")), '{"n":9007199254740993}');
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
  const fields = { reason: "Expired", message: "too old", details: { retryAfterSeconds: 3 } };
  const status = JSON.stringify({ kind: "Status", ...fields });
  const error = decodeError(410, status, undefined, "watch secrets");
  assert.ok(isGone(error));
  assert.equal(error.retryAfterMs, 3000);
  assert.equal(error.message, "watch secrets: too old");
  assert.equal(decodeError(503, "", "2", "get").retryAfterMs, 2000);
  // Five answers of a broken gateway would otherwise silence the client for decades.
  assert.equal(decodeError(429, "", "999999999", "get").retryAfterMs, 60_000);
  const forever = JSON.stringify({ details: { retryAfterSeconds: 1e9 } });
  assert.equal(decodeError(429, forever, undefined, "get").retryAfterMs, 60_000);
});

test("only the message of a Status is quoted, on one line and bounded: a stranger's kubeconfig may lead to a document", () => {
  const messageOf = (body: string): string => decodeError(500, body, undefined, "get").message;
  for (const document of [
    "root password is hunter2",
    '{"message":"hunter2"}',
    '{"kind":"Doc","message":"hunter2"}',
  ])
    assert.equal(messageOf(document), "get: HTTP 500");
  const statusOf = (message: string): string => JSON.stringify({ kind: "Status", message });
  assert.equal(messageOf(statusOf("a\u001b[2J\u202eb")), "get: a [2J b");
  assert.ok(messageOf(statusOf("x".repeat(100_000))).length < 2_100);
  assert.equal(messageOf(`{"kind":"Status","message":${"[".repeat(1_000_000)}`), "get: HTTP 500");
});

test("the outline of a failure holds the status and a reason of Kubernetes, and nothing else of the answer", () => {
  const outline = (status: number, reason: string): string =>
    failureOutline(
      decodeError(status, JSON.stringify({ kind: "Status", reason, message: "hunter2" }), undefined, "x"),
    );
  assert.equal(outline(401, "Unauthorized"), "the answer was 401 (Unauthorized)");
  assert.equal(outline(500, "hunter2"), "the answer was 500");
  const altNames = new TransportError("Tls", "is not in the cert's altnames: DNS:vault.corp.internal");
  assert.equal(failureOutline(altNames), "no usable answer came");
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
