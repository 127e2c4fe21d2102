import assert from "node:assert/strict";
import { test } from "node:test";
import { operationOf } from "./operation.ts";

test("a request is counted as the verb that it is, without its identifiers", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["GET", "/v2/catalog", "catalog"],
    ["GET", "/broker/v2/catalog", "catalog"],
    ["PUT", "/v2/service_instances/a-b", "provision"],
    ["PATCH", "/v2/service_instances/a", "update"],
    ["DELETE", "/v2/service_instances/a", "deprovision"],
    ["GET", "/v2/service_instances/a", "fetch_instance"],
    ["GET", "/v2/service_instances/a/last_operation", "last_operation"],
    ["PUT", "/v2/service_instances/a/service_bindings/b", "bind"],
    ["DELETE", "/v2/service_instances/a/service_bindings/b", "unbind"],
    ["GET", "/v2/service_instances/a/service_bindings/b", "fetch_binding"],
    ["GET", "/v2/service_instances/a/service_bindings/b/last_operation", "last_operation"],
    ["GET", "/healthz", "other"],
    ["POST", "/v2/service_instances/a", "other"],
    ["GET", "/v2/service_instances/a/b", "other"],
  ];
  for (const [method, path, expected] of cases)
    assert.equal(operationOf(method, path), expected, `${method} ${path}`);
});
