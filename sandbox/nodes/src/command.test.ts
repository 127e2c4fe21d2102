import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { run } from "./command.ts";
import { archiveOf } from "./import-image.ts";

const env = { PATH: "/usr/bin:/bin" };

test("a program gets its input and gives its output, also when it does not read to the end", async () => {
  assert.equal(await run({ command: "cat", args: [], env }, "one\ntwo\n"), "one\ntwo\n");
  const much = [new Uint8Array(4 * 1024 * 1024)];
  assert.equal(await run({ command: "echo", args: ["done"], env }, much), "done\n");
});

test("a program that fails, or is not there, is named with its complaint", async () => {
  await assert.rejects(run({ command: "sh", args: ["-c", "echo no >&2; exit 3"], env }), {
    code: "CommandFailed",
    message: "sh -c echo no >&2; exit 3 failed: no",
  });
  await assert.rejects(run({ command: "no-such-program", args: ["x"], env }), {
    code: "CommandFailed",
    message: /^no-such-program x failed: .*ENOENT/,
  });
});

test("input that ends before its time is an error, whatever the program makes of the part", async () => {
  const broken = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from("half");
    throw new Error("the disk is gone");
  };
  await assert.rejects(run({ command: "cat", args: [], env }, broken()), {
    code: "CommandFailed",
    message: "cat got only a part of its input: Error: the disk is gone",
  });
});

test("the archive of a folder has its files, and a folder that is not there is an error", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-archive-"));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "file"), "content");
  const names = await run({ command: "tar", args: ["-tf", "-"], env }, archiveOf(folder));
  assert.deepEqual(names.trim().split("\n"), ["./", "./file"]);
  await assert.rejects(
    run({ command: "cat", args: [], env }, archiveOf(join(folder, "none"))),
    /none cannot be archived: tar: /,
  );
});
