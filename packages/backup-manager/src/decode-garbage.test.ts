import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanerFor, type HttpResponse, longestText } from "@klutch/http-client";
import fc from "fast-check";
import {
  type Context,
  decodeAccepted,
  decodeBackup,
  decodeBackups,
  decodeCreatedBackup,
  decodeCreatedRestore,
  decodeError,
  decodeInstanceConfig,
  decodeRestore,
  decodeRestores,
} from "./decode.ts";
import { BackupManagerTransportError } from "./errors.ts";
import type { Backup, Restore } from "./types.ts";

const context: Context = {
  call: "getBackup",
  subject: "x",
  status: 200,
  clean: cleanerFor(["correct-horse"]),
};

function response(body: string, type: string): HttpResponse {
  return { status: 200, text: body, contentType: type, retryAfterMs: undefined, headers: {} };
}

/** JSON in which the fields of answers occur often, with values of all kinds. */
const name = fc.constantFrom(
  "id",
  "backup_id",
  "status",
  "size",
  "triggered_at",
  "finished_at",
  "downloadable",
  "message",
  "error",
  "description",
  "min_backup_count",
  "retention_time",
  "exclude_from_auto_backup",
  "backup_type",
  "__proto__",
);
const scalar = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    0.5,
    7,
    "7",
    2 ** 53,
    "",
    "done",
    "correct-horse",
    "\u202e\u0000",
  ),
  fc.constantFrom("2026-03-01T10:00:00Z", "0001-01-01T00:00:00Z", "x".repeat(2_000)),
  fc.string({ unit: "binary" }),
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(name, fc.oneof(scalar, tie("json")), { maxKeys: 8 }),
  ),
}));
const likely = fc.record(
  {
    id: fc.constantFrom<unknown>(7, "7", 8),
    status: fc.oneof(fc.constant("done"), scalar),
    size: scalar,
    triggered_at: scalar,
  },
  { requiredKeys: ["id", "status"] },
);
const whole = fc
  .oneof(json, likely, fc.array(likely, { maxLength: 3 }))
  .map((value) => JSON.stringify(value));
/** Whole answers, truncated ones, ones with a changed byte, and texts that are not JSON. */
const text = fc.oneof(
  whole,
  fc.tuple(whole, fc.nat()).map(([body, at]) => body.slice(0, at % (body.length + 1))),
  fc.tuple(whole, fc.nat(), fc.string({ minLength: 1, maxLength: 1 })).map(([body, at, character]) => {
    const place = at % (body.length + 1);
    return body.slice(0, place) + character + body.slice(place + 1);
  }),
  fc.string(),
);
const contentType = fc.constantFrom(
  "application/json",
  "application/json",
  "",
  "text/html",
  "a/b+json",
  "\u001b+json",
);

const isTime = (value: number | undefined): boolean =>
  value === undefined || (Number.isSafeInteger(value) && value > 0);
const isCount = (value: number | undefined): boolean =>
  value === undefined || (Number.isSafeInteger(value) && value >= 0);
const isId = (value: number): boolean => Number.isSafeInteger(value) && value > 0;
const isSafe = (value: string, limit = longestText): boolean =>
  value.length <= limit && !/[\p{Cc}\p{Cf}]/u.test(value) && !value.includes("correct-horse");
const isBackup = ({ id, state, size, triggeredAtMs, finishedAtMs, downloadable }: Backup): boolean =>
  isId(id) &&
  state !== "" &&
  isSafe(state, 100) &&
  isCount(size) &&
  isTime(triggeredAtMs) &&
  isTime(finishedAtMs) &&
  typeof downloadable === "boolean";
const isRestore = ({ id, state, backupId, triggeredAtMs, finishedAtMs }: Restore): boolean =>
  isId(id) &&
  isSafe(state, 100) &&
  (backupId === undefined || isId(backupId)) &&
  isTime(triggeredAtMs) &&
  isTime(finishedAtMs);

const checks: readonly ((answer: HttpResponse) => boolean)[] = [
  (answer) => {
    const { backupId, message } = decodeCreatedBackup(answer, context);
    return isId(backupId) && isSafe(message);
  },
  (answer) => isId(decodeCreatedRestore(answer, context).restoreId),
  (answer) => isBackup(decodeBackup(answer, 7, context)),
  (answer) => isRestore(decodeRestore(answer, 7, context)),
  (answer) => decodeBackups(answer, context).every(isBackup),
  (answer) => decodeRestores(answer, context).every(isRestore),
  (answer) => isSafe(decodeAccepted(answer, context).message),
  (answer) => {
    const { minBackupCount, retentionDays, excludeFromAutoBackup, backupType } = decodeInstanceConfig(
      answer,
      context,
    );
    return (
      isCount(minBackupCount) &&
      isCount(retentionDays) &&
      ["boolean", "undefined"].includes(typeof excludeFromAutoBackup) &&
      isSafe(backupType ?? "", 100)
    );
  },
  (answer) => {
    const { error, description, own } = decodeError(answer, context);
    return isSafe(error, 100) && isSafe(description) && typeof own === "boolean";
  },
];

test("whatever a manager answers, it becomes what the types say or an error that quotes nothing of it", () => {
  fc.assert(
    fc.property(text, contentType, (body, type) => {
      for (const check of checks) {
        try {
          assert.ok(check(response(body, type)));
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          assert.ok(error instanceof BackupManagerTransportError, String(error));
          assert.ok(error.code === "Garbage" || error.code === "ContentType", error.code);
          assert.ok(isSafe(error.message, 600), error.message);
        }
      }
    }),
    { numRuns: 3_000 },
  );
});
