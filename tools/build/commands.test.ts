import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, test } from "node:test";
import { run } from "@klutch/engines";
import { buildCommands, oldestNode } from "./commands.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-commands-"));
after(() => rm(folder, { recursive: true, force: true }));
const paths = await buildCommands(join(folder, "bin"));
const pinnedNode = dirname(process.execPath);

test("kubectl-bind and klutch run from anywhere, also through a link on PATH", async () => {
  const links = join(folder, "links");
  await mkdir(links);
  for (const path of paths) {
    const name = basename(path);
    await symlink(path, join(links, name));
    const env = { PATH: `${links}:${pinnedNode}:/usr/bin:/bin`, HOME: folder };
    const { stdout } = await run(name, ["--help"], { cwd: folder, env });
    assert.match(stdout, new RegExp(`^Usage: ${name} \\[options\\]`));
  }
});

const old = (process.env["PATH"] ?? "")
  .split(":")
  .map((entry) => join(entry, "node"))
  .find((path) => (majorOf(path) ?? oldestNode) < oldestNode);
const needsOldNode = old === undefined ? { skip: `no Node older than ${oldestNode} on PATH` } : {};

test(
  "under a Node that is too old, such as that of npm, they run with the Node of the build",
  needsOldNode,
  async () => {
    for (const path of paths) {
      const { stdout } = await run(old ?? "", [path, "--help"]);
      assert.match(stdout, new RegExp(`^Usage: ${basename(path)} \\[options\\]`));
      const failure: unknown = await run(old ?? "", [path, "--no-such-flag"]).catch(
        (error: unknown) => error,
      );
      assert.match(String(failure), /unknown option '--no-such-flag'/);
    }
  },
);

test("without the Node of the build each says in one line what it needs", needsOldNode, async () => {
  for (const path of await buildCommands(join(folder, "moved"), join(folder, "none"))) {
    const failure: unknown = await run(old ?? "", [path, "--help"]).catch((error: unknown) => error);
    assert.ok(failure instanceof Error && "stderr" in failure);
    assert.match(
      String(failure.stderr),
      new RegExp(`^${basename(path)} needs Node ${oldestNode} or newer, and this is Node \\d+\\.[^\n]+\n$`),
    );
  }
});

function majorOf(node: string): number | undefined {
  try {
    return Number(/^v(\d+)/.exec(execFileSync(node, ["--version"], { encoding: "utf8" }))?.[1]);
  } catch {
    return undefined;
  }
}
