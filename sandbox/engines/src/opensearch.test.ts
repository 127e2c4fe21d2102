import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { opensearchObstacle, requirePinned } from "./opensearch.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-opensearch-"));
after(() => rm(folder, { recursive: true, force: true }));

test("another Java, and none, are named with the packages to install", async () => {
  const java = join(folder, "java");
  for (const [version, words] of [
    ["11.0.2", /needs Java 17 to 23, and this machine has 11; install .* openjdk-17-jdk-headless and maven$/],
    ["24", /this machine has 24/],
  ] as const) {
    await writeFile(java, `#!/bin/sh\necho 'openjdk version "${version}"' >&2\n`);
    await chmod(java, 0o755);
    assert.match((await opensearchObstacle(java)) ?? "", words);
  }
  await writeFile(java, `#!/bin/sh\necho 'openjdk version "17.0.15" 2025-04-15' >&2\n`);
  assert.equal(await opensearchObstacle(java), undefined);
  assert.match((await opensearchObstacle(join(folder, "absent"))) ?? "", /this machine has none/);
});

test("files that are not pinned, changed or missing are not used", async () => {
  const jars = await mkdtemp(join(folder, "jars-"));
  await writeFile(join(jars, "a.jar"), "a");
  const a = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
  await requirePinned(jars, `${a}  a.jar\n`);
  await assert.rejects(requirePinned(jars, `${a}  a.jar\n${a}  b.jar\n`), { code: "ENOENT" });
  await writeFile(join(jars, "b.jar"), "b");
  await assert.rejects(requirePinned(jars, `${a}  a.jar\n`), /Maven brought b\.jar, which is not pinned/);
  await assert.rejects(
    requirePinned(jars, `${a}  a.jar\n${a}  b.jar\n`),
    /b\.jar has the sha256 digest 3e23/,
  );
});
