import assert from "node:assert/strict";
import { test } from "node:test";
import { type LockEntries, lockFaults, withoutFaults } from "./platforms.ts";

const integrity = "sha512-x";
const tool = {
  version: "1.2.3",
  integrity,
  optionalDependencies: { "@tool/linux-x64": "1.2.3", "@tool/win32-x64": "1.2.3" },
};
const complete: LockEntries = {
  "": {},
  "packages/own": { version: "0.1.0" },
  "node_modules/own": { link: true },
  "node_modules/tool": tool,
  "node_modules/@tool/linux-x64": { version: "1.2.3", integrity },
  "node_modules/tool/node_modules/@tool/win32-x64": { version: "1.2.3", integrity },
};

test("a lock file with a checksum of every package has no fault", () => {
  assert.deepEqual(lockFaults(complete), []);
  assert.deepEqual(withoutFaults(complete), complete);
});

test("a native package without an entry, or without a SHA-512, is a fault; npm is made to look for it again", () => {
  const { "node_modules/@tool/linux-x64": linux, ...without } = complete;
  assert.deepEqual(lockFaults(without), ["node_modules/@tool/linux-x64 has no entry"]);
  const { "node_modules/tool": _tool, ...rest } = without;
  assert.deepEqual(withoutFaults(without), rest);
  for (const weak of [undefined, "sha1-x"]) {
    const entries = {
      ...without,
      "node_modules/@tool/linux-x64": { ...linux, integrity: weak },
    } as LockEntries;
    assert.deepEqual(lockFaults(entries), ["node_modules/@tool/linux-x64 has no sha512 checksum"]);
    assert.ok(!("node_modules/@tool/linux-x64" in withoutFaults(entries)));
  }
});
