import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, TransportError } from "@klutch/kube";
import { stallOf } from "./stalls.ts";

const refused = (status: number, message: string): ApiError =>
  new ApiError({
    status,
    reason: "Forbidden",
    message,
    cluster: "provider",
    method: "GET",
    path: "/apis",
  } as never);

test("a refused list names verb, resource, cluster, namespace and what to do", () => {
  const error = refused(403, 'zones.test is forbidden: User "u" cannot watch resource "zones"');
  const stall = stallOf({ resource: "zones.test", namespace: "cluster-a-app", since: 0, error }, "provider");
  assert.equal(stall?.reason, "Forbidden");
  assert.match(
    stall.message ?? "",
    /^the agent may not watch zones\.test at the provider, namespace cluster-a-app, .*Ask the provider to give/,
  );
});

test("what may pass by itself is no stall", () => {
  const failure = { resource: "zones.test", namespace: undefined, since: 0 };
  assert.equal(
    stallOf({ ...failure, error: refused(500, "storage is (re)initializing") }, "provider"),
    undefined,
  );
  assert.equal(stallOf({ ...failure, error: new Error("connection refused") }, "app cluster"), undefined);
});

test("a list that does not end, or is too large, is told with its cause, and no connection that broke", () => {
  const failure = { resource: "zones.test", namespace: "cluster-a-app", since: 0 };
  const error = new TransportError(
    "Endless",
    "list zones: the server sent 100 pages and names one more each time",
  );
  const stall = stallOf({ ...failure, error }, "provider");
  assert.equal(stall?.reason, "ListTooLarge");
  assert.match(
    stall.message ?? "",
    /^the agent cannot read the list of zones\.test at the provider, namespace cluster-a-app, .*: list zones: the server sent 100 pages/,
  );
  assert.equal(stallOf({ ...failure, error: new TransportError("Reset", "x") }, "provider"), undefined);
});
