import assert from "node:assert/strict";
import { access, chmod, mkdir, mkdtemp, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { removeDataHome } from "./data-home.ts";
import { startPostgres } from "./postgres.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-pg-test-"));
after(() => rm(folder, { recursive: true, force: true }));

test("a data folder that a killed initdb left half-made is made again, and a kept one is used again", async () => {
  // A killed initdb leaves this behind.
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

test("a data folder in a home that only its owner may enter is kept and taken up, also by root", async () => {
  const home = join(folder, "home");
  await mkdir(home, { mode: 0o700 });
  const dataDir = join(home, "state", "postgres");
  const identifiers: string[] = [];
  for (const mode of [0o700, 0o700, 0o755]) {
    await chmod(home, mode);
    await using _server = await startPostgres({ dataDir });
    identifiers.push((await readFile(join(dataDir, "data", "global", "pg_control"))).toString("hex", 0, 8));
  }
  assert.equal(new Set(identifiers).size, 1, "a later start took up another database");
  await removeDataHome(dataDir);
  await assert.rejects(access(dataDir));
});

test("data moved to the system's place goes with its folder, and lost data is not made again silently", {
  skip: process.getuid?.() === 0 ? false : "only root's PostgreSQL runs as another user",
}, async () => {
  const home = join(folder, "closed");
  const dataDir = join(home, "postgres");
  await mkdir(home, { mode: 0o700 });
  const server = await startPostgres({ dataDir });
  await server[Symbol.asyncDispose]();
  const moved = await readlink(dataDir);
  await rm(moved, { recursive: true });
  await assert.rejects(startPostgres({ dataDir }), /where the server's data was kept, and that is gone/);
  await removeDataHome(dataDir);
  await assert.rejects(access(join(moved, "..")));
});

test("data of a home that was open once is moved when the home is closed", {
  skip: process.getuid?.() === 0 ? false : "only root's PostgreSQL runs as another user",
}, async () => {
  const home = join(folder, "closed-later");
  const dataDir = join(home, "postgres");
  const identifiers: string[] = [];
  for (const mode of [0o755, 0o700]) {
    await mkdir(home, { recursive: true });
    await chmod(home, mode);
    await using _server = await startPostgres({ dataDir });
    identifiers.push((await readFile(join(dataDir, "data", "global", "pg_control"))).toString("hex", 0, 8));
  }
  assert.equal(new Set(identifiers).size, 1);
  await removeDataHome(dataDir);
});
