import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { type DigestedFile, keepFiles, takeKept } from "./kept-files.ts";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "klutch-kept-"));
after(() => rm(folder, { recursive: true, force: true }));

/** A file with this content, and a place for a copy of it. */
async function fileOf(name: string, content: string): Promise<{ file: DigestedFile; copy: DigestedFile }> {
  const digest = { algorithm: "sha256", hex: createHash("sha256").update(content).digest("hex") } as const;
  const path = join(folder, name);
  await writeFile(path, content);
  return { file: { path, digest }, copy: { path: `${path}.copy`, digest } };
}

const namesIn = async (cacheFolder: string): Promise<readonly string[]> =>
  (await readdir(join(cacheFolder, "downloads"))).filter((name) => name !== "mutex");

test("a file is taken by its digest, and by another one nothing is taken", async () => {
  const options = { cacheFolder: join(folder, "cache") };
  const [one, two] = [await fileOf("one", "1"), await fileOf("two", "2")];
  assert.equal(await takeKept(one.copy, options), false);
  await keepFiles([one.file], options);
  await keepFiles([], options);
  assert.equal(await takeKept(one.copy, options), true);
  assert.equal(await readFile(one.copy.path, "utf8"), "1");
  assert.equal(await takeKept(two.copy, options), false);
  await assert.rejects(readFile(two.copy.path), "nothing is there instead");
});

test("a damaged or incomplete file is not taken but removed, and can be kept again", async () => {
  const options = { cacheFolder: join(folder, "damaged") };
  const { file, copy } = await fileOf("large", "x".repeat(100_000));
  await keepFiles([file], options);
  const [name = ""] = await namesIn(options.cacheFolder);
  const kept = join(options.cacheFolder, "downloads", name);
  for (const damage of [() => truncate(kept, 50_000), () => writeFile(kept, "y".repeat(100_000))]) {
    await damage();
    assert.equal(await takeKept(copy, options), false);
    await assert.rejects(readFile(copy.path));
    assert.deepEqual(await namesIn(options.cacheFolder), []);
    await keepFiles([file], options);
    assert.equal(await takeKept(copy, options), true);
    await rm(copy.path);
  }
});

test("a file that is another than was announced is not kept, and the error has both digests", async () => {
  const options = { cacheFolder: join(folder, "other") };
  const { file } = await fileOf("lie.deb", "good");
  await writeFile(file.path, "evil");
  await assert.rejects(keepFiles([file], options), {
    code: "ChecksumMismatch",
    message: new RegExp(
      `^lie\\.deb has the sha256 digest [0-9a-f]{64}, but ${file.digest.hex} was announced; not using it$`,
    ),
  });
  assert.deepEqual(await namesIn(options.cacheFolder), []);
});

test("many processes keep and take the same files at once, and what a killed one left is removed", async () => {
  const cacheFolder = join(folder, "many");
  const files = await Promise.all(["a", "b", "c"].map((name) => fileOf(name, name.repeat(300_000))));
  await mkdir(join(cacheFolder, "downloads"), { recursive: true });
  const [{ file: killed } = assert.fail()] = files;
  await writeFile(join(cacheFolder, "downloads", `sha256-${killed.digest.hex}.partial`), "aaa");
  const script = `
    const { keepFiles, takeKept } = await import(${JSON.stringify(new URL("kept-files.ts", import.meta.url).href)});
    const [files, options] = ${JSON.stringify([files.map(({ file }) => file), { cacheFolder }])};
    for (let round = 0; round < 3; round++) {
      await keepFiles(files, options);
      for (const { path, digest } of files)
        if (!(await takeKept({ path: path + "." + process.pid, digest }, options))) process.exit(3);
    }`;
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" }),
  );
  const codes = await Promise.all(
    children.map(async (child): Promise<unknown> => (await once(child, "exit"))[0]),
  );
  assert.deepEqual(codes, [0, 0, 0, 0]);
  const names = files.map(({ file }) => `sha256-${file.digest.hex}`);
  assert.deepEqual((await namesIn(cacheFolder)).toSorted(), names.toSorted());
});

test("a full disk is named with what to do, and no half file stays", async (t) => {
  const cacheFolder = join(folder, "full");
  await mkdir(cacheFolder);
  const mounted = await run("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", cacheFolder]).catch(
    () => undefined,
  );
  if (mounted === undefined) return t.skip("only root can mount a small disk");
  t.after(() => run("umount", [cacheFolder]));
  const { file } = await fileOf("too-large", "z".repeat(200_000));
  await assert.rejects(keepFiles([file], { cacheFolder }), {
    code: "DiskFull",
    message: `${join(cacheFolder, "downloads")}, where downloads are kept, cannot be written: the disk is full. Make room, or name another folder with KLUTCH_CACHE_DIR`,
  });
  assert.deepEqual(await namesIn(cacheFolder), []);
});
