import assert from "node:assert/strict";
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startPostgres } from "./postgres.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-pg-test-"));
after(() => rm(folder, { recursive: true, force: true }));

test("a data folder that a killed initdb left half-made is made anew, and a kept one is taken up", async () => {
  // What initdb leaves when it is killed.
  await mkdir(join(folder, "data.partial"));
  await writeFile(join(folder, "data.partial", "PG_VERSION"), "18\n");
  const identifiers: string[] = [];
  for (let start = 0; start < 2; start++) {
    await using server = await startPostgres({ dataDir: folder });
    assert.match(server.url, /^postgres:\/\/postgres:postgres@127\.0\.0\.1:\d+\/postgres$/);
    identifiers.push((await readFile(join(folder, "data", "global", "pg_control"))).toString("hex", 0, 8));
  }
  assert.equal(new Set(identifiers).size, 1, "the second start took up another database");
  // The superuser's password was needed for the set-up only.
  await assert.rejects(access(join(folder, ".password")));
  await assert.rejects(access(join(folder, "data.partial")));
});

test("a server in a temporary folder ends by itself when asked, and leaves nothing", async () => {
  const server = await startPostgres();
  const data = (await readFile(`/proc/${server.process.pid}/cmdline`, "utf8")).split("\0")[2] ?? "";
  await access(join(data, "PG_VERSION"));
  await server[Symbol.asyncDispose]();
  assert.equal(await server.process.exited, 0);
  await assert.rejects(access(data));
});
