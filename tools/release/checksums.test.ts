import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkChecksums, checksumsName, parseChecksums, writeChecksums } from "./checksums.ts";

const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

async function release(t: { after(end: () => Promise<void>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-checksums-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "charts"));
  await writeFile(join(folder, "charts", "b.tgz"), "");
  await writeFile(join(folder, "a b.txt"), "");
  return folder;
}

test("checksums are of every file, by path, and the same when they are written again", async (t) => {
  const folder = await release(t);
  for (let time = 0; time < 2; time++) {
    await writeChecksums(folder);
    const text = await readFile(join(folder, checksumsName), "utf8");
    assert.equal(text, `${empty}  a b.txt\n${empty}  charts/b.tgz\n`);
  }
  assert.equal((await checkChecksums(folder)).size, 2);
});

test("a file that is another, missing or too many is named, and nothing else", async (t) => {
  const folder = await release(t);
  await writeFile(join(folder, "same.txt"), "same");
  await writeChecksums(folder);
  await writeFile(join(folder, "a b.txt"), "changed");
  await writeFile(join(folder, "new.txt"), "");
  await rm(join(folder, "charts", "b.tgz"));
  await assert.rejects(checkChecksums(folder), ({ message }: Error) => {
    assert.match(message, new RegExp(`"a b.txt" has the checksum [0-9a-f]{64}, expected ${empty}`));
    assert.match(message, /"charts\/b.tgz" is missing/);
    assert.match(message, /"new.txt" is there, but has no checksum/);
    assert.doesNotMatch(message, /same/);
    return true;
  });
});

test("a folder without checksums is told so", async () => {
  await assert.rejects(checkChecksums("/nowhere/at-all"), /checksums.txt cannot be read; is this a release/);
});

test("checksums of a stranger name only files below the folder, each once", () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["", /line 1: is "", expected a SHA-256 sum/],
    [`${empty} one-space`, /line 1: is .*, expected a SHA-256 sum/],
    [`${empty.slice(1)}  short`, /expected a SHA-256 sum/],
    [`${empty}  ok\n${empty}  ../outside`, /line 2: the path "..\/outside" is not one below/],
    [`${empty}  /etc/passwd`, /the path "\/etc\/passwd" is not one below/],
    [`${empty}  a/../../b`, /is not one below/],
    [`${empty}  a\\b`, /is not one below/],
    [`${empty}  a\n${empty}  a`, /line 2: the path "a" is there twice/],
  ];
  for (const [text, message] of cases) assert.throws(() => parseChecksums(text), message);
});
