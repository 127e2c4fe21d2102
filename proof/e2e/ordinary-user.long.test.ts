import assert from "node:assert/strict";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, test } from "node:test";
import { cacheFolder, canEnter, engineNames, resolveDebian, resolveEngine, run } from "@klutch/engines";
import { startSandbox } from "./own-sandbox.ts";

const repository = join(import.meta.dirname, "..", "..");
/** Debian's account `nobody`, which exists everywhere and owns nothing. */
const user = { uid: 65_534, gid: 65_534 };

const root = await mkdtemp(join(tmpdir(), "klutch-user-"));
after(() => rm(root, { recursive: true, force: true }));

/** The checkout, where that user can read it: CI's may lie in a closed folder. */
async function readableTree(): Promise<string> {
  if (await canEnter(user, repository)) return repository;
  const copy = join(root, "project");
  await mkdir(copy);
  for (const name of await readdir(repository))
    if (name !== ".git") await copyTree(join(repository, name), join(copy, name));
  return copy;
}

/** Copies a folder, by links where both are on one file system, because nothing in it is changed. */
async function copyTree(from: string, to: string): Promise<void> {
  await run("cp", ["-al", from, to]).catch(() => run("cp", ["-a", from, to]));
}

/** The user's own cache with the servers in it, so that nothing is built. */
async function ownCache(): Promise<string> {
  const cache = join(root, "cache");
  for (const name of engineNames) {
    const folder = dirname(await resolveEngine(name));
    const target = join(cache, folder.slice(cacheFolder.length));
    await mkdir(dirname(target), { recursive: true });
    await copyTree(folder, target);
    await chmod(target, 0o755);
  }
  for (const name of ["mariadb", "redis"] as const) {
    const { root: programs } = await resolveDebian(name);
    const target = join(cache, "debian", name);
    await mkdir(target, { recursive: true });
    if (programs !== "/") await copyTree(programs, join(target, basename(programs)));
    await chown(target, user.uid, user.gid);
  }
  return cache;
}

test("an ordinary user whose home is closed to others gets from nothing to a working database password", {
  timeout: 300_000,
  skip: process.getuid?.() === 0 ? false : "this process is an ordinary user's, so all other tests show it",
}, async () => {
  await chmod(root, 0o755);
  const home = join(root, "home");
  await mkdir(home, { mode: 0o700 });
  const cache = await ownCache();
  for (const folder of [home, cache]) await chown(folder, user.uid, user.gid);
  const sandbox = startSandbox({
    tree: await readableTree(),
    identity: user,
    env: { PATH: process.env["PATH"], HOME: home, USER: "nobody", KLUTCH_CACHE_DIR: cache },
    args: ["--exit"],
  });
  await sandbox.exited;
  assert.equal(sandbox.child.exitCode, 0, sandbox.printed());
  for (const title of ["PostgreSQL", "MariaDB", "KeyValue"])
    assert.match(sandbox.printed(), new RegExp(`^ +${title} +restored: Hello from app cluster A$`, "m"));
  const state = join(home, ".local", "state", "klutch", "sandbox");
  assert.equal((await stat(state)).mode & 0o777, 0o700);
  assert.match(await readFile(join(state, "postgres", "postgres.log"), "utf8"), /database system is ready/);
});
