import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanerFor, type HttpResponse } from "@klutch/http-client";
import {
  type Context,
  decodeAccepted,
  decodeBackup,
  decodeBackups,
  decodeCreatedBackup,
  decodeCreatedRestore,
  decodeInstanceConfig,
  decodeRestore,
  decodeRestores,
} from "./decode.ts";
import { BackupManagerTransportError } from "./errors.ts";
import type { Backup } from "./types.ts";

const context: Context = {
  call: "getBackup",
  subject: "x",
  status: 200,
  clean: cleanerFor(["correct-horse"]),
};

function response(text: string, contentType = "application/json", status = 200): HttpResponse {
  return { status, text, contentType, retryAfterMs: undefined, headers: {} };
}

const answerOf = (body: unknown): HttpResponse => response(JSON.stringify(body));
const backupOf = (fields: Readonly<Record<string, unknown>>): Backup =>
  decodeBackup(answerOf({ id: 7, status: "done", ...fields }), 7, context);

const ids: readonly (readonly [string, number | undefined])[] = [
  ["7", 7],
  ["7.0", 7],
  ['"7"', 7],
  ['"007"', 7],
  ["9007199254740991", 9_007_199_254_740_991],
  ["9007199254740992", undefined],
  ["9007199254740993", undefined],
  ['"9007199254740993"', undefined],
  ["1e400", undefined],
  ['"1e2"', undefined],
  ["7.5", undefined],
  ["0", undefined],
  ["-7", undefined],
  ['"-7"', undefined],
  ['""', undefined],
  ['" 7"', undefined],
  ['"seven"', undefined],
  ["null", undefined],
  ["true", undefined],
  ["[7]", undefined],
  ['{"id":7}', undefined],
];
for (const [text, id] of ids) {
  test(`the id ${text} is ${id ?? "refused, since nothing could be asked with it"}`, () => {
    const decode = (): number => decodeCreatedRestore(response(`{"id":${text}}`), context).restoreId;
    if (id === undefined)
      assert.throws(decode, /: id is missing or no id \(a whole number from 1 to 2\^53 - 1\)/);
    else assert.equal(decode(), id);
  });
}

const sizes: readonly (readonly [unknown, number | undefined])[] = [
  [0, 0],
  [1_099_511_627_776, 1_099_511_627_776],
  ["2048", 2048],
  [-1, undefined],
  [0.5, undefined],
  [2 ** 60, undefined],
  [1e308, undefined],
  ["NaN", undefined],
  ["2 KB", undefined],
  [null, undefined],
  [[], undefined],
];
for (const [size, bytes] of sizes) {
  test(`a size of ${JSON.stringify(size)} is ${bytes ?? "left out"}`, () => {
    const found = backupOf({ size });
    assert.equal(found.size, bytes);
    assert.equal(found.sizeIsMalformed, bytes === undefined && size !== null ? true : undefined);
  });
}

const times: readonly (readonly [unknown, number | undefined])[] = [
  ["2026-03-01T10:00:00.500Z", Date.UTC(2026, 2, 1, 10, 0, 0, 500)],
  ["2026-03-01T10:00:00Z", Date.UTC(2026, 2, 1, 10)],
  ["2026-03-01t10:00:00z", Date.UTC(2026, 2, 1, 10)],
  ["2026-03-01 10:00:00+02:00", Date.UTC(2026, 2, 1, 8)],
  ["2026-03-01T10:00:00.123456789Z", Date.UTC(2026, 2, 1, 10, 0, 0, 123)],
  ["2026-03-01T10:00:00", undefined],
  ["0001-01-01T00:00:00Z", undefined],
  ["2026-13-01T10:00:00Z", undefined],
  ["2026-03-01T25:00:00Z", undefined],
  ["yesterday", undefined],
  ["", undefined],
  [1_772_000_000, undefined],
  [null, undefined],
  [{}, undefined],
];
for (const [time, expected] of times) {
  test(`the time ${JSON.stringify(time)} is ${expected ?? "left out"}`, () => {
    assert.equal(backupOf({ triggered_at: time }).triggeredAtMs, expected);
    assert.equal(backupOf({ finished_at: time }).finishedAtMs, expected);
  });
}

test("a state that is not known stays as it was written; one that is not there is refused", () => {
  assert.equal(backupOf({ status: "verifying" }).state, "verifying");
  for (const status of ["", " \n", null, 3, ["done"], { state: "done" }, undefined])
    assert.throws(() => backupOf({ status }), /: status is missing, empty or no text/);
});

test("only true is downloadable", () => {
  for (const downloadable of ["true", 1, null, {}, undefined])
    assert.equal(backupOf({ downloadable }).downloadable, false);
  assert.equal(backupOf({ downloadable: true }).downloadable, true);
});

test("a restore without a readable backup keeps what it has", () => {
  const body = { id: 3, status: "done", backup_id: "?" };
  assert.deepEqual(decodeRestore(answerOf(body), 3, context), { id: 3, state: "done" });
});

test("fields of a configuration that have no meaning are left out, one by one", () => {
  const body = {
    min_backup_count: "2",
    retention_time: -1,
    min_encryption_key_length: 8.5,
    exclude_from_auto_backup: "no",
    backup_type: 3,
  };
  assert.deepEqual(decodeInstanceConfig(answerOf(body), context), { minBackupCount: 2 });
  assert.deepEqual(decodeInstanceConfig(answerOf({}), context), {});
});

const bodies: readonly (readonly [string, RegExp])[] = [
  ["null", /the body is null, not an? (?:object|list)/],
  ["true", /the body is a boolean/],
  ["17", /the body is a number/],
  ['"done"', /the body is a string/],
  ["", /the answer \(HTTP 200\) cannot be used: the body is empty/],
  ["  \n", /the body is empty/],
  ["{", /the body is no JSON, or only the half of it/],
  ['{"id":7,"status":"done"', /only the half of it/],
  ["<!doctype html>", /the body is no JSON/],
  ["{'id':7}", /the body is no JSON/],
  ["NaN", /the body is no JSON/],
];
for (const [text, message] of bodies) {
  test(`the body ${JSON.stringify(text)} is a clear error of every call`, () => {
    const decoders = [
      decodeCreatedBackup,
      decodeCreatedRestore,
      decodeBackups,
      decodeRestores,
      decodeInstanceConfig,
      ...(text.trim() === "" ? [] : [decodeAccepted]),
    ];
    for (const decode of decoders) {
      assert.throws(
        () => decode(response(text), context),
        (error) => {
          assert.ok(error instanceof BackupManagerTransportError);
          assert.equal(error.code, "Garbage");
          assert.match(error.message, message);
          return true;
        },
      );
    }
  });
}

test("a list where an object belongs, and an object where a list belongs, are told apart", () => {
  assert.throws(() => decodeBackup(answerOf([]), 7, context), /the body is a list, not an object/);
  assert.throws(
    () => decodeBackups(answerOf({ resources: [] }), context),
    /the body is an object, not a list/,
  );
  assert.throws(() => decodeBackups(answerOf([null]), context), /: \[0\] is null, not an object/);
  assert.throws(() => decodeRestores(answerOf([{ id: 1 }]), context), /: \[0\]\.status is missing/);
});

test("JSON that is nested a million times is garbage and no crash", () => {
  const text = "[".repeat(1_000_000) + "]".repeat(1_000_000);
  assert.throws(() => decodeBackups(response(text), context), { code: "Garbage" });
});

test("a name that every object inherits is no field", () => {
  const text = '{"__proto__":{"id":7,"status":"done"},"constructor":1}';
  assert.throws(() => decodeBackup(response(text), 7, context), { code: "Garbage" });
});
