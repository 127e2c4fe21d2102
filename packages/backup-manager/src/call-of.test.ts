import assert from "node:assert/strict";
import { test } from "node:test";
import { callOf } from "./call-of.ts";

test("a request is counted as the call that it is, without its identifiers", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["POST", "/instances/a/backups", "createBackup"],
    ["GET", "/backup-manager/instances/a-b/backups", "listBackups"],
    ["GET", "/instances/a/backups/7", "getBackup"],
    ["DELETE", "/instances/a/backups/7", "deleteBackup"],
    ["POST", "/instances/a/backups/7/restore", "createRestore"],
    ["GET", "/instances/a/restores", "listRestores"],
    ["GET", "/instances/a/restores/7", "getRestore"],
    ["GET", "/instances/a/config", "getInstanceConfig"],
    ["PUT", "/instances/a", "updateBackupConfig"],
    ["GET", "/instances", "checkHealth"],
    ["GET", "/v2/healthy", "checkHealth"],
    ["PATCH", "/instances/a/backups/7", "other"],
    ["GET", "/instances/backups", "other"],
    ["GET", "/instances/a/b/backups", "other"],
  ];
  for (const [method, path, expected] of cases)
    assert.equal(callOf(method, path), expected, `${method} ${path}`);
});
