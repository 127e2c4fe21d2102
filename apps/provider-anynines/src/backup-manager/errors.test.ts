import assert from "node:assert/strict";
import { test } from "node:test";
import { BackupManagerTransportError } from "@klutch/backup-manager";
import { ExternalError } from "@klutch/crossplane";
import { toExternalError } from "./errors.ts";

test("a backup manager without an answer cannot be reached, also when its connection breaks", () => {
  for (const [code, reason] of [
    ["Unreachable", "BrokerUnreachable"],
    ["Broken", "BrokerUnreachable"],
    ["Garbage", undefined],
  ] as const) {
    const error = new BackupManagerTransportError(code, { call: "getBackup", subject: "x" }, "away");
    const external = toExternalError(error, "question");
    assert.ok(external instanceof ExternalError);
    assert.equal(external.reason, reason, code);
  }
});
