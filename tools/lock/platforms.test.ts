import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { repositoryRoot } from "../root.ts";
import { completeLock, type LockEntries, missingPlatforms } from "./platforms.ts";

test("package-lock.json has an entry for every platform, so npm ci accepts it (npm run lock)", () => {
  const lock = JSON.parse(readFileSync(join(repositoryRoot, "package-lock.json"), "utf8")) as {
    packages: LockEntries;
  };
  assert.deepEqual([...missingPlatforms(lock.packages).keys()], []);
});

test("a platform that the registry did not serve is added with the version and platform that its name tells", () => {
  const entries: LockEntries = {
    "": {},
    "node_modules/tool": {
      version: "1.2.3",
      optionalDependencies: {
        "@tool/linux-x64-gnu": "1.2.3",
        "@tool/linux-arm64-musl": "1.2.3",
        "@tool/win32-x64": "1.2.3",
      },
    },
    "node_modules/@tool/linux-x64-gnu": { version: "1.2.3", optional: true, os: ["linux"], cpu: ["x64"] },
  };
  const complete = completeLock(entries);
  assert.deepEqual(complete["node_modules/@tool/linux-arm64-musl"], {
    version: "1.2.3",
    optional: true,
    os: ["linux"],
    cpu: ["arm64"],
    libc: ["musl"],
  });
  assert.deepEqual(complete["node_modules/@tool/win32-x64"], {
    version: "1.2.3",
    optional: true,
    os: ["win32"],
    cpu: ["x64"],
  });
  assert.equal(complete["node_modules/@tool/linux-x64-gnu"], entries["node_modules/@tool/linux-x64-gnu"]);
  assert.deepEqual([...missingPlatforms(complete)], []);
});
