/** Programs for developers: how they answer a command line that is wrong. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";

const cases: readonly (readonly [program: string, option: string])[] = [
  ["proof/simulation/main.ts", "seeds"],
  ["proof/simulation/main.ts", "seed"],
  ["proof/e2e/faults/real/soak.ts", "seeds"],
  ["proof/bench/chains.ts", "chains"],
  ["proof/bench/instances.ts", "probes"],
  ["proof/bench/sync.ts", "runs"],
];

/** Returns the exit code and the standard error. */
async function run(program: string, ...args: readonly string[]): Promise<readonly [unknown, string]> {
  const path = join(import.meta.dirname, "..", "..", program);
  const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  const [said] = await Promise.all([text(child.stderr), once(child, "close")]);
  return [child.exitCode, said];
}

for (const [program, option] of cases)
  test(`${program} refuses --${option} that is not a number, and an unknown option`, async () => {
    const [number, unknown] = await Promise.all([
      run(program, `--${option}=many`),
      run(program, "--nonsense"),
    ]);
    assert.deepEqual(number, [2, `--${option} must be a whole number above 0, not "many"\n`]);
    assert.equal(unknown[0], 2);
    assert.match(unknown[1], /^Unknown option '--nonsense'.*\n$/);
  });

test("the simulation runs the seeds that it is told, without --seed", async () => {
  assert.deepEqual(await run("proof/simulation/main.ts", "--seeds=1", "--from=91001"), [0, ""]);
});
