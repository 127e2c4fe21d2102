import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditedWrite } from "@klutch/kube-testing";
import { livesOf } from "./timeline.ts";

const common = { resource: "widgets", name: "one", address: "", holder: undefined, completedAt: 0 };
let time = 0;
const write = (userName: string, verb: string, code: number, subresource = ""): AuditedWrite => {
  return { ...common, userName, verb, code, subresource, receivedAt: ++time };
};

test("any user but the creator is an agent, refused and early writes do not count, and an agent may write no finalizer", () => {
  const create = write("admin", "create", 201);
  const early = write("other", "update", 200, "status");
  const refused = write("other", "update", 409);
  const finalizer = write("other", "update", 200);
  const copy = write("tenant", "patch", 201);
  const report = write("admin", "patch", 200, "status");
  const status = write("other", "update", 200, "status");
  const [all] = livesOf([create, early, refused, finalizer, status], [copy, report]);
  assert.deepEqual(all, { create, finalizer, copy, report, status });
  const [none] = livesOf([create, refused, status], [copy, report]);
  assert.deepEqual(none, { create, finalizer: undefined, copy, report, status });
});
