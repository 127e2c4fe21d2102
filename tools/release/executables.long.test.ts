import assert from "node:assert/strict";
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { klutchVersion, runtimeUser } from "@klutch/api";
import { resolveEngine, run } from "@klutch/engines";
import { buildProgramFiles } from "./app-layer.ts";
import { buildExecutable } from "./executables.ts";
import { allPlatforms, type Platform } from "./executables-archive.ts";
import { fetchNpmArchive, type NpmArchive } from "./npm-archive.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-executables-test-"));
after(() => rm(folder, { recursive: true, force: true }));
await chmod(folder, 0o755);
const architecture = process.arch === "arm64" ? "arm64" : "amd64";
const here = allPlatforms.find((each) => each.os === "linux" && each.architecture === architecture);

test("an executable has the same bytes when it is built again elsewhere, and runs as an unprivileged user without this tree", async (t) => {
  assert.ok(here !== undefined);
  const node = await fetchNpmArchive(here.node, folder);
  const program = await build("first", here, node);
  assert.ok(Buffer.from(program).equals(await build("second", here, node)), "the same bytes");
  const bin = join(folder, "bin");
  await mkdir(bin);
  for (const name of ["kubectl-bind", "klutch"]) {
    await writeFile(join(bin, name), program);
    await chmod(join(bin, name), 0o755);
  }
  const home = join(folder, "home");
  await mkdir(home);
  await t.test("under both names", async () => {
    for (const name of ["kubectl-bind", "klutch"]) {
      const path = join(bin, name);
      assert.equal((await runAsNobody(path, ["--version"], bin, home)).stdout, `${klutchVersion}\n`);
      const help = await runAsNobody(path, ["--help"], bin, home);
      assert.match(help.stdout, new RegExp(`^Usage: ${name} \\[options\\]`));
      assert.equal(help.stderr, "");
    }
  });
  await t.test("as kubectl's plugin", async () => {
    // Other users may not enter the cache of engines.
    const kubectl = join(bin, "kubectl");
    await copyFile(await resolveEngine("kubectl"), kubectl);
    const { stdout } = await runAsNobody(kubectl, ["bind", "--help"], bin, home);
    assert.match(stdout, /^Usage: kubectl-bind \[options\]/);
    await assert.rejects(runAsNobody(kubectl, ["bind", "--no-such-flag"], bin, home), /no-such-flag/);
  });
  await t.test("as what kubectl asks for completion, by a link or by the script", async () => {
    const kubectl = join(bin, "kubectl");
    const link = join(bin, "kubectl_complete-bind");
    await symlink("kubectl-bind", link);
    assert.match(
      (await runAsNobody(kubectl, ["__complete", "bind", "apis"], `${bin}:/bin`, home)).stdout,
      /^apiservice\tBind the APIs.*\n:4\n$/,
    );
    await rm(link);
    const { stdout } = await runAsNobody(kubectl, ["bind", "completion", "kubectl"], bin, home);
    await writeFile(link, stdout);
    await chmod(link, 0o755);
    const flags = await runAsNobody(kubectl, ["__complete", "bind", "--no-br"], `${bin}:/bin`, home);
    assert.match(flags.stdout, /^--no-browser\t.*\n:4\n$/);
  });
  await t.test("whatever NODE_OPTIONS says", async () => {
    const env = { NODE_OPTIONS: "--require=/nowhere/at-all.js" };
    const { stdout } = await runAsNobody(join(bin, "klutch"), ["--version"], bin, home, env);
    assert.equal(stdout, `${klutchVersion}\n`);
  });
});

async function build(name: string, platform: Platform, node: NpmArchive): Promise<Uint8Array> {
  const own = join(folder, name);
  await mkdir(own);
  const { program } = await buildProgramFiles("cli", own);
  return buildExecutable({ platform, node, program, folder: own });
}

/** Runs a program as the user of containers, if this test may become it. */
function runAsNobody(
  program: string,
  args: readonly string[],
  path: string,
  home: string,
  env: Readonly<Record<string, string>> = {},
) {
  const user = process.getuid?.() === 0 ? { uid: runtimeUser, gid: runtimeUser } : {};
  return run(program, args, { cwd: home, env: { PATH: path, HOME: home, ...env }, ...user });
}
