/** Runs every server's `main.ts` as a process, and checks its answers to people who try it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { ownProgram } from "@klutch/engines";

const programs = [
  "konnector",
  "backend",
  "provider-anynines",
  "function-klutch",
  "broker",
  "a8s-operator",
] as const;

async function run(
  program: string,
  flag: string,
): Promise<{ readonly code: unknown; readonly out: string; readonly err: string }> {
  const child = spawn(process.execPath, [ownProgram(program), flag], { stdio: ["ignore", "pipe", "pipe"] });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit") as Promise<[number | null]>,
  ]);
  return { code, out, err };
}

for (const program of programs) {
  test(`${program} answers --help, --version and a flag that it does not have`, async () => {
    const [help, version, nonsense] = await Promise.all([
      run(program, "--help"),
      run(program, "--version"),
      run(program, "--nonsense"),
    ]);
    assert.equal(help.code, 0, help.err);
    assert.match(
      help.out,
      new RegExp(`^${program} v\\d+\\.\\d+\\.\\d+: .+\n\nUsage: ${program} \\[flags\\]\n`),
    );
    assert.match(help.out, /\(default .+\)/);
    assert.match(version.out, new RegExp(`^${program} v\\d+\\.\\d+\\.\\d+\n$`));
    assert.equal(version.code, 0);
    assert.equal(nonsense.code, 2);
    assert.match(nonsense.err, /^--nonsense is not a flag; --help lists those that are\n/);
    // Each line is one sentence that begins with the wrong flag or variable; no stack.
    for (const line of nonsense.err.trimEnd().split("\n"))
      assert.match(line, /^(--[a-z-]+|[A-Z_]+)(: | is )/, line);
  });
}
