import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { AptFault, run } from "@klutch/engines";
import { blamingTemporaryFolder, isDiskFull } from "./disk-full.ts";
import { ReleaseError } from "./errors.ts";
import { smallDisk } from "./testing/small-disk.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-disk-full-"));
after(() => rm(folder, { recursive: true, force: true }));

/** Runs these lines as a module whose temporary folder is this one; gives back what they throw. */
async function thrown(temporary: string, lines: string, ...args: readonly string[]): Promise<string> {
  const script = `
    const { blamingTemporaryFolder, inTemporaryFolder, replace } = await import(${moduleOf("disk-full.ts")});
    const { buildExecutables } = await import(${moduleOf("executables.ts")});
    const { buildProgramFiles } = await import(${moduleOf("app-layer.ts")});
    await (async () => { ${lines} })().catch(({ name, message }) => console.log(name + ": " + message));`;
  const env = { ...process.env, TMPDIR: temporary };
  return (await run(process.execPath, ["--input-type=module", "-e", script, ...args], { env })).stdout;
}

const moduleOf = (name: string): string => JSON.stringify(join(import.meta.dirname, name));
const advice = "make room in it, or name another one with the environment variable TMPDIR";

test("when the temporary folder has too little room it is named, not where the release goes, and nothing is touched", async (t) => {
  const temporary = await smallDisk(t, join(folder, "small"), "64k");
  if (temporary === undefined) return;
  const out = join(folder, "out");
  await mkdir(join(out, "executables"), { recursive: true });
  await writeFile(join(out, "executables", "old"), "");
  const lines = "await buildExecutables({ out: process.argv[1], platforms: [], say: () => undefined });";
  assert.equal(
    await thrown(temporary, lines, out),
    `ReleaseError: the temporary folder ${temporary} has 0 MiB free, of which a release needs 700 while it is put together; ${advice}\n`,
  );
  assert.deepEqual(await readdir(temporary), []);
  assert.deepEqual(await readdir(join(out, "executables")), ["old"]);
  assert.deepEqual(await readdir(out), ["executables"]);
});

test("when it is full later on it is named, too, and nothing stays in it", async (t) => {
  const temporary = await smallDisk(t, join(folder, "full"), "64k");
  if (temporary === undefined) return;
  const out = join(folder, "file");
  // The bundle of the commands does not fit.
  const lines = `
    const inside = (folder) => blamingTemporaryFolder(() => buildProgramFiles("cli", folder));
    await inTemporaryFolder("test", 0, (folder) => replace(process.argv[1], () => inside(folder)));`;
  assert.equal(
    await thrown(temporary, lines, out),
    `ReleaseError: the temporary folder ${temporary}, in which a release is put together, is full; ${advice}\n`,
  );
  assert.deepEqual(await readdir(temporary), []);
});

test("a program that says that the disk is full is understood, and any other fault stays as it is", async (t) => {
  const disk = await smallDisk(t, join(folder, "disk"), "16k");
  if (disk === undefined) return;
  const failed = await run("dd", ["if=/dev/zero", `of=${join(disk, "file")}`, "bs=64k", "count=1"]).catch(
    (error: unknown) => error,
  );
  assert.ok(isDiskFull(failed));
  assert.ok(isDiskFull(new AptFault("E: You don't have enough free space in /tmp/archives/.")));
  for (const other of [new AptFault("E: no key"), new ReleaseError("out is full: ENOSPC")])
    await assert.rejects(
      blamingTemporaryFolder(() => Promise.reject(other)),
      other,
    );
});
