import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "@klutch/kube";
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
