import assert from "node:assert/strict";
import { test } from "node:test";
import { readRequest } from "./request.ts";

const base = "/apis/a.b/v1/namespaces/n/widgets";
const outcome = (target: string, accept?: string, method = "GET"): unknown => {
  const read = readRequest(method, target, accept);
  return read.kind === "answer" ? read.request : read.kind === "pass" ? read.reason : read.failure.code;
};
const place = { group: "a.b", version: "v1", plural: "widgets", namespace: "n" };
const watch = { sendsInitialEvents: false, marksInitialEvents: false, bookmarks: true, timeoutSeconds: 300 };

test("lists and watches from a version are answered", () => {
  assert.deepEqual(outcome(`${base}?resourceVersion=0`), { ...place, from: "any", watch: undefined });
  assert.deepEqual(outcome(`${base}?resourceVersion=0&limit=500`), {
    ...place,
    from: "any",
    watch: undefined,
  });
  assert.deepEqual(outcome(`${base}?resourceVersion=12&resourceVersionMatch=NotOlderThan`), {
    ...place,
    from: 12,
    watch: undefined,
  });
  const target = `${base}?watch=true&allowWatchBookmarks=true&resourceVersion=12&timeoutSeconds=300`;
  assert.deepEqual(outcome(target, "application/json, */*"), { ...place, from: 12, watch });
  assert.deepEqual(outcome(`${target}&timeout=5m0s`), { ...place, from: 12, watch });
  assert.deepEqual(outcome("/apis/a.b/v1/widgets?watch=1&resourceVersion=5"), {
    ...place,
    namespace: undefined,
    from: 5,
    watch: { ...watch, bookmarks: false, timeoutSeconds: undefined },
  });
});

test("a streaming list begins with objects as new as asked for", () => {
  const target = `${base}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=&timeoutSeconds=300`;
  const initial = { ...watch, sendsInitialEvents: true, marksInitialEvents: true };
  assert.deepEqual(outcome(target), { ...place, from: "latest", watch: initial });
  assert.deepEqual(outcome(target.replace("Version=&", "Version=0&")), {
    ...place,
    from: "any",
    watch: initial,
  });
});

test("everything else goes to the API server", () => {
  const passed: readonly [target: string, reason: string, accept?: string | undefined, method?: string][] = [
    [base, "consistent"],
    [`${base}?watch=true`, "consistent"],
    [base, "method", undefined, "POST"],
    [`${base}/x`, "path"],
    [`${base}/x/status`, "path"],
    ["/api/v1/namespaces/n/secrets?resourceVersion=0", "path"],
    ["/apis/a.b/v1/watch/namespaces/n/widgets", "path"],
    [`${base}?resourceVersion=0&labelSelector=a%3Db`, "selector"],
    [`${base}?resourceVersion=0&fieldSelector=metadata.name%3Dx`, "selector"],
    [`${base}?resourceVersion=0&continue=abc`, "parameters"],
    [`${base}?resourceVersion=0&pretty=true`, "parameters"],
    [`${base}?resourceVersion=0&timeout=5s`, "parameters"],
    [`${base}?watch=true&resourceVersion=12&timeout=soon`, "parameters"],
    [`${base}?resourceVersion=0&resourceVersion=12`, "parameters"],
    [`${base}?resourceVersion=-1`, "parameters"],
    [`${base}?resourceVersion=01`, "parameters"],
    [`${base}?resourceVersion=12&resourceVersionMatch=Exact`, "parameters"],
    [`${base}?resourceVersion=99999999999999999999`, "parameters"],
    [`${base}?resourceVersion=12&limit=5`, "paged"],
    [`${base}?watch=yes&resourceVersion=12`, "parameters"],
    [`${base}?watch=true&resourceVersion=12&resourceVersionMatch=NotOlderThan`, "parameters"],
    [`${base}?watch=true&resourceVersion=12&sendInitialEvents=true`, "parameters"],
    [`${base}?resourceVersion=0`, "format", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"],
    [
      `${base}?resourceVersion=0`,
      "format",
      "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    ],
    [`${base}?resourceVersion=0`, "format", "application/vnd.kubernetes.protobuf"],
  ];
  for (const [target, reason, accept, method] of passed)
    assert.equal(outcome(target, accept, method), reason, target);
});

test("a passed watch counts as one", () => {
  for (const target of [
    `${base}?watch=true`,
    "/api/v1/secrets?watch=1",
    "/api/v1/watch/secrets",
    "/apis/a.b/v1/watch/widgets",
  ]) {
    const read = readRequest("GET", target, undefined);
    assert.ok(read.kind === "pass" && read.isWatch, target);
  }
});

test("paths that mean something else when they are read twice are refused", () => {
  for (const target of [
    "/apis/a.b/v1/namespaces/n/../m/widgets",
    "/apis/a.b/v1/namespaces/n%2f..%2fm/widgets",
    "/apis/a.b/v1/namespaces/%2e%2e/widgets",
    "/apis//v1/widgets",
    "/apis/./v1",
    "http://other/apis/a.b/v1/widgets",
    "/apis/a.b/v1/widgets%00",
    "/apis/a.b/v1/widgets%252f",
    "/apis/a.b/v1/widgets%",
    "/apis\\a.b",
    "/apis/a.b/v1/widgets#x",
    "/apis/a.b/v1/widgets?a?b",
    "*",
    "",
  ])
    assert.equal(outcome(target), 400, target);
});
