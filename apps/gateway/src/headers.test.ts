import assert from "node:assert/strict";
import { test } from "node:test";
import { answeredHeaders, judgeHeaders } from "./headers.ts";

const token = ["Authorization", "Bearer abc.def-_"];

test("the tenant's own words go on, and those of the connection do not", () => {
  const judged = judgeHeaders([
    ...token,
    "Host",
    "gateway",
    "Connection",
    "keep-alive",
    "TE",
    "trailers",
    "Content-Length",
    "3",
    "X-Remote-User",
    "admin",
    "X-Remote-Group",
    "system:masters",
    "X-Forwarded-For",
    "1.2.3.4",
    "Accept",
    "application/json",
    "User-Agent",
    "agent",
    "Transfer-Encoding",
    "chunked",
    ":path",
    "/x",
  ]);
  assert.ok(judged.refusal === undefined);
  assert.deepEqual(judged.forwarded, {
    authorization: "Bearer abc.def-_",
    accept: "application/json",
    "user-agent": "agent",
  });
});

test("requests that claim more than a token are refused", () => {
  const refused: readonly [raw: readonly string[], code: number][] = [
    [[], 401],
    [["Authorization", ""], 401],
    [["Authorization", "Bearer "], 401],
    [["Authorization", "Basic YTpi"], 401],
    [["Authorization", "Bearer a, Bearer b"], 401],
    [[...token, "authorization", "Bearer other"], 400],
    [[...token, "Impersonate-User", "admin"], 403],
    [[...token, "impersonate-extra-scopes", "x"], 403],
    [[...token, "IMPERSONATE-GROUP", "system:masters"], 403],
    [[...token, "Connection", "Authorization"], 400],
    [[...token, "Connection", "close, Impersonate-User"], 400],
    [[...token, "Connection", "Upgrade", "Upgrade", "websocket"], 400],
    [[...token, "Upgrade", "SPDY/3.1"], 400],
  ];
  for (const [raw, code] of refused) {
    const { refusal } = judgeHeaders(raw);
    assert.equal(refusal?.code, code, raw.join(" "));
    assert.doesNotMatch(refusal?.message ?? "", /abc\.def/);
  }
});

test("headers that are named like an object's own parts are only headers", () => {
  const judged = judgeHeaders([...token, "constructor", "x", "toString", "y"]);
  assert.ok(judged.refusal === undefined);
  assert.equal(judged.forwarded["constructor"], "x");
});

test("an answer loses the headers of its connection", () => {
  const headers = {
    ":status": "200",
    connection: "close",
    "transfer-encoding": "chunked",
    warning: ["a", "b"],
  };
  assert.deepEqual(answeredHeaders({ ...headers, "audit-id": "1", "content-length": "2" }), {
    warning: ["a", "b"],
    "audit-id": "1",
    "content-length": "2",
  });
});
