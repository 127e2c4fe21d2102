import assert from "node:assert/strict";
import { test } from "node:test";
import type { BackupManagerCall } from "./call.ts";
import {
  BackupManagerConfigError,
  BackupManagerError,
  BackupManagerTransportError,
  type BackupManagerTransportCode,
  isGone,
  isLocked,
  isNotRestorable,
  isRefusal,
  isRestoreRunning,
  mayHaveHappened,
} from "./errors.ts";
import type { BackupManagerErrorCode } from "./status.ts";

function answered(call: BackupManagerCall, status: number, own = true): BackupManagerError {
  const error = own ? "Code" : "";
  return new BackupManagerError({ call, subject: "x" }, { status, error, description: "", own });
}

const codes: readonly (readonly [number, BackupManagerErrorCode])[] = [
  [300, "Redirect"],
  [304, "Redirect"],
  [400, "BadRequest"],
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "NotFound"],
  [405, "UnexpectedStatus"],
  [409, "Conflict"],
  [410, "Gone"],
  [418, "UnexpectedStatus"],
  [422, "Unprocessable"],
  [423, "Locked"],
  [429, "TooManyRequests"],
  [500, "ServerError"],
  [503, "ServerError"],
  [599, "ServerError"],
  [999, "ServerError"],
];
for (const [status, code] of codes) {
  test(`status ${status} is ${code}`, () => assert.equal(answered("getBackup", status).code, code));
}

const messages: readonly (readonly [BackupManagerCall, number, boolean, string])[] = [
  [
    "createBackup",
    404,
    true,
    "The manager does not know the instance; check its id and that it has not been deleted.",
  ],
  [
    "deleteBackup",
    404,
    true,
    "The backup or its instance is not there any more; nothing is left to do with it.",
  ],
  ["deleteBackup", 423, true, "The backup is in use; try again when that has ended."],
  [
    "deleteBackup",
    400,
    true,
    "The manager could not delete the backup's file; try again later, and look at its storage.",
  ],
  [
    "createRestore",
    409,
    true,
    "A restore of the instance is running; look whether it is this one, else try again when it has ended.",
  ],
  ["createRestore", 410, true, "The backup's data have been deleted; restore another one."],
  [
    "createRestore",
    422,
    true,
    "The backup cannot be restored in the state that it is in; wait until it is done.",
  ],
  ["getRestore", 401, true, "Check username and password."],
  [
    "getBackup",
    302,
    false,
    "Redirects are not followed, because that would send the credentials elsewhere; set url to the final address.",
  ],
  [
    "getBackup",
    404,
    false,
    "These are not the manager's own words, so nothing counts as gone; check url and what stands before the manager.",
  ],
  ["checkHealth", 404, false, "There is nothing at this path; check the path and url."],
  ["listBackups", 502, false, "The manager failed; try again, and look at its log."],
];
for (const [call, status, own, advice] of messages) {
  test(`${status} to ${call}${own ? "" : " by something else than the manager"} says what to do`, () => {
    const { message } = answered(call, status, own);
    assert.ok(message.startsWith(`${call} of x: the backup manager answered HTTP ${status} `), message);
    assert.ok(message.endsWith(`. ${advice}`), message);
  });
}

test("the manager's words stand in quotes, so that they cannot be taken for ours", () => {
  const { message } = new BackupManagerError(
    { call: "deleteBackup", subject: 'backup 7 of instance "i"' },
    { status: 423, error: "Locked", description: 'in use". All is well', own: true },
  );
  assert.equal(
    message,
    'deleteBackup of backup 7 of instance "i": the backup manager answered HTTP 423 Locked, saying "Locked: in use\\". All is well". The backup is in use; try again when that has ended.',
  );
});

test("only 404 and 410 in the manager's own words mean gone", () => {
  for (const status of [404, 410]) {
    assert.ok(isGone(answered("getBackup", status)));
    assert.ok(!isGone(answered("getBackup", status, false)));
  }
  for (const status of [400, 401, 403, 409, 422, 423, 500]) assert.ok(!isGone(answered("getBackup", status)));
  assert.ok(!isGone(new BackupManagerTransportError("Unreachable", { call: "getBackup", subject: "x" }, "")));
});

test("409, 422 and 423 mean what the call says", () => {
  assert.ok(isRestoreRunning(answered("createRestore", 409)));
  assert.ok(!isRestoreRunning(answered("createBackup", 409)));
  assert.ok(isNotRestorable(answered("createRestore", 422)));
  assert.ok(!isNotRestorable(answered("updateBackupConfig", 422)));
  assert.ok(isLocked(answered("deleteBackup", 423)));
  assert.ok(!isLocked(answered("deleteBackup", 409)));
});

test("a refusal is what time does not change", () => {
  for (const status of [400, 405, 406, 413, 415])
    assert.ok(isRefusal(answered("createBackup", status)), `${status}`);
  for (const status of [302, 401, 403, 404, 408, 409, 410, 422, 423, 429, 500, 503])
    assert.ok(!isRefusal(answered("createRestore", status)), `${status}`);
  assert.ok(!isRefusal(answered("deleteBackup", 400)), "a file that could not be deleted");
});

test("what may have happened must be looked for; after a clear no, or no connection, nothing has", () => {
  const broken: readonly (readonly [BackupManagerTransportCode, boolean])[] = [
    ["Unreachable", false],
    ["Tls", false],
    ["Timeout", true],
    ["Broken", true],
    ["TooLarge", true],
    ["ContentType", true],
    ["Garbage", true],
  ];
  for (const [code, may] of broken) {
    const error = new BackupManagerTransportError(code, { call: "createBackup", subject: "x" }, "");
    assert.equal(mayHaveHappened(error), may, code);
  }
  for (const status of [408, 500, 502, 503, 504])
    assert.ok(mayHaveHappened(answered("createBackup", status)));
  for (const status of [400, 401, 404, 409, 410, 422, 423, 429])
    assert.ok(!mayHaveHappened(answered("createBackup", status)), `${status}`);
  assert.ok(mayHaveHappened(new Error("the lease is lost")), "the reason of an abort");
  assert.ok(!mayHaveHappened(new BackupManagerConfigError("url is not an address")));
  assert.ok(!mayHaveHappened(new RangeError("no id")));
});
