import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "klutch-shells-"));
after(() => rm(folder, { recursive: true, force: true }));
await symlink(join(import.meta.dirname, "..", "main.ts"), join(folder, "klutch.ts"));
const klutch = join(folder, "klutch");
await writeFile(klutch, `#!/bin/sh\nexec '${process.execPath}' '${join(folder, "klutch.ts")}' "$@"\n`);
await chmod(klutch, 0o755);
const context = { name: "arn:aws:cluster/dev", context: {} };
await writeFile(join(folder, "config"), JSON.stringify({ contexts: [context] }));
// Each completion starts the program; without what Node compiled before, that takes three times as long.
const compiled = process.env["NODE_COMPILE_CACHE"];
const env = {
  PATH: `${folder}:${process.env["PATH"]}`,
  HOME: folder,
  KUBECONFIG: join(folder, "config"),
  ...(compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }),
};
const script = join(folder, "completion.bash");
await writeFile(script, (await run(klutch, ["completion", "bash"], { env })).stdout);

/** Returns the completions of bash for a line with the cursor at its end. */
async function bash(line: string): Promise<readonly string[]> {
  const commands = `set -e
source "$2"
[[ "$(complete -p klutch)" == *_klutch_words* ]]
COMP_LINE="$1" COMP_POINT=\${#1}
_klutch_words 2> /dev/null
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run("bash", ["--norc", "-c", commands, "bash", line, script], {
    env,
    cwd: folder,
  });
  return stdout.trimEnd().split("\n");
}

test("bash completes commands, flags and contexts", async () => {
  assert.deepEqual(await bash("klutch unb"), ["unbind"]);
  assert.deepEqual(await bash("klutch bind apiservice --remote-kubeconfig-n"), [
    "--remote-kubeconfig-namespace",
    "--remote-kubeconfig-name",
  ]);
  assert.deepEqual(await bash("klutch doctor --context "), ["arn:aws:cluster/dev"]);
});

test("bash gets only what it will replace of a word with a sign or colons in it", async () => {
  assert.deepEqual(await bash("klutch doctor --context=arn:aw"), ["aws:cluster/dev"]);
  assert.deepEqual(await bash("klutch doctor --context=a"), ["arn:aws:cluster/dev"]);
});

/** EACCES: it is nowhere on PATH, and one folder of that is closed to us (execvp(3)). */
function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "EACCES");
}

for (const [shell, args] of [
  ["zsh", ["-n"]],
  ["fish", ["--no-execute"]],
] as const)
  test(`${shell} reads its script`, async (t) => {
    const file = join(folder, `completion.${shell}`);
    await writeFile(file, (await run(klutch, ["completion", shell], { env })).stdout);
    await run(shell, [...args, file], { env }).catch((error: unknown) => {
      if (!isAbsent(error)) throw error;
      t.skip(`there is no ${shell} here`);
    });
  });
