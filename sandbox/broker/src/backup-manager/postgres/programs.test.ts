import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { choosePrograms, type DumpPrograms, findPrograms, programFolders } from "./programs.ts";

const pair = (major: number): DumpPrograms => ({ folder: `/p/${major}`, major });

test("the nearest version that is not older than the server is taken", () => {
  assert.deepEqual(choosePrograms([pair(18), pair(14), pair(16), pair(15)], 15), pair(15));
  assert.deepEqual(choosePrograms([pair(18), pair(14), pair(17)], 15), pair(17));
});

test("what is missing is said in one sentence, with the package to install", () => {
  assert.deepEqual(choosePrograms([], 18), {
    missing:
      "PostgreSQL 18 cannot be backed up or restored here: pg_dump and pg_restore 18 or newer are needed and there is none; install the package postgresql-client-18",
  });
  assert.deepEqual(choosePrograms([pair(15), pair(14), pair(15)], 18), {
    missing:
      "PostgreSQL 18 cannot be backed up or restored here: pg_dump and pg_restore 18 or newer are needed and there is only 14, 15; install the package postgresql-client-18",
  });
});

test("a folder counts when both programs are there and say their version", async () => {
  const root = await mkdtemp(join(tmpdir(), "klutch-programs-"));
  after(() => rm(root, { recursive: true, force: true }));
  const folderOf = async (name: string, dump: string | undefined, isWhole = true): Promise<string> => {
    const folder = await mkdtemp(join(root, `${name}-`));
    if (isWhole) await writeFile(join(folder, "pg_restore"), "");
    if (dump !== undefined) {
      await writeFile(join(folder, "pg_dump"), `#!/bin/sh\n${dump}\n`);
      await chmod(join(folder, "pg_dump"), 0o755);
    }
    return folder;
  };
  const good = await folderOf("good", "echo 'pg_dump (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)'");
  const beta = await folderOf("beta", "echo 'pg_dump (PostgreSQL) 19beta2'");
  const newest = await folderOf("newest", "echo 'pg_dump (PostgreSQL) 18.1'");
  const folders = [
    good,
    beta,
    newest,
    await folderOf("half", "echo 'pg_dump (PostgreSQL) 16.1'", false),
    await folderOf("mute", "true"),
    await folderOf("broken", "exit 1"),
    await folderOf("none", undefined),
    join(root, "not-there"),
  ];
  assert.deepEqual(await findPrograms(folders), [
    { folder: good, major: 15 },
    { folder: newest, major: 18 },
  ]);
});

test("a folder that is given is the only one that is looked into", async () => {
  assert.deepEqual(await programFolders("/given", "/a:/b"), ["/given"]);
  const folders = await programFolders(undefined, "/a::/b");
  assert.deepEqual(folders.slice(-2), ["/a", "/b"]);
  assert.ok(!folders.includes(""));
});
