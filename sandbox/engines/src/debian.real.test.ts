/** Debian's own packages, with this machine's apt. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { resolveDebian } from "./debian.ts";
import { inheritedEnvironment } from "./environment.ts";
import { unprivileged } from "./data-home.ts";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "klutch-debian-"));
after(() => rm(folder, { recursive: true, force: true }));
/** Nothing counts as installed. */
const installedRoot = join(folder, "empty");

test("a server is fetched with this machine's apt into a cache, runs from there, and is taken from there the next time", async () => {
  await chmod(folder, 0o755);
  const said: string[] = [];
  const options = { cacheFolder: join(folder, "cache"), installedRoot };
  const redis = await resolveDebian("redis", { ...options, progress: (line) => said.push(line) });
  assert.match(redis.version, /^7\./);
  const env = { ...inheritedEnvironment, ...redis.env };
  const { stdout } = await run(redis.path("redis-server"), ["--version"], { env, ...unprivileged });
  assert.match(stdout, /^Redis server v=7/);
  assert.ok(said.some((line) => line.includes("downloading")));
  const again = await resolveDebian("redis", { ...options, progress: assert.fail });
  assert.equal(again.root, redis.root);
  const left = await readdir(join(folder, "cache", "debian", "redis"));
  assert.deepEqual(left.length, 2, String(left));
});

test("without network the error names the missing packages and the remedy", async () => {
  const settings = ['Acquire::http::Proxy "http://127.0.0.1:9";'];
  const options = { cacheFolder: join(folder, "offline"), installedRoot, settings };
  await assert.rejects(resolveDebian("redis", options), {
    code: "PackageMissing",
    message:
      /^redis is not installed here and cannot be fetched: .+ Install the Debian packages redis-server/s,
  });
});

test("an ordinary user whose home is closed fetches and runs one", {
  skip: unprivileged === undefined ? "only root can become another user" : false,
}, async () => {
  assert.ok(unprivileged !== undefined);
  const home = join(folder, "home");
  await mkdir(home, { mode: 0o700 });
  await chown(home, unprivileged.uid, unprivileged.gid);
  const script = `
    const { resolveDebian } = await import(${JSON.stringify(new URL("debian.ts", import.meta.url).href)});
    const found = await resolveDebian("redis", { installedRoot: ${JSON.stringify(installedRoot)} });
    console.log(found.version, found.root);`;
  const env = { PATH: inheritedEnvironment["PATH"], HOME: home };
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], {
    env,
    cwd: "/",
    ...unprivileged,
  });
  assert.match(stdout, new RegExp(`^7\\.\\S+ ${home}/\\.cache/klutch/debian/redis/`));
});
