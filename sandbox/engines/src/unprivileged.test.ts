import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { EngineError } from "./environment.ts";
import { canEnter, requireOwnFolder, unprivileged } from "./data-home.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-unprivileged-"));
after(() => rm(folder, { recursive: true, force: true }));
const isRoot = process.getuid?.() === 0;

async function made(name: string, mode: number): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  await chmod(path, mode);
  return path;
}

test("a folder that others may write to is not ours, whatever is in it", async () => {
  await requireOwnFolder(await made("own", 0o755));
  await requireOwnFolder(await made("closed", 0o700));
  for (const [name, mode] of [
    ["group", 0o775],
    ["fixture", 0o757],
    ["sticky", 0o1777],
  ] as const) {
    await assert.rejects(requireOwnFolder(await made(name, mode)), (error) => {
      assert.ok(error instanceof EngineError);
      assert.equal(error.code, "UnsafeFolder");
      assert.match(error.message, new RegExp(`${name} belongs to another user or is writable`));
      return true;
    });
  }
  await assert.rejects(requireOwnFolder(join(folder, "absent")), { code: "ENOENT" });
});

test("only root has somebody else to run servers as", () => {
  assert.equal(unprivileged === undefined, !isRoot);
  assert.notEqual(unprivileged?.uid, 0);
});

test("another user can enter folders that are open to all; a future folder is judged by the folders above it", {
  skip: !isRoot,
}, async () => {
  assert.ok(unprivileged !== undefined);
  await chmod(folder, 0o755);
  const open = await made("open", 0o755);
  const shut = await made("shut", 0o700);
  assert.equal(await canEnter(unprivileged, open), true);
  assert.equal(await canEnter(unprivileged, join(open, "a", "b", "to-come")), true);
  assert.equal(await canEnter(unprivileged, shut), false);
  assert.equal(await canEnter(unprivileged, join(shut, "to-come")), false);
  await writeFile(join(open, "file"), "");
  assert.equal(await canEnter(unprivileged, join(open, "file")), false);
});
