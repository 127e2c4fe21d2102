import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Killer } from "./killer.ts";
import type { Kill } from "./plan.ts";

const root = await mkdtemp(join(tmpdir(), "klutch-killer-"));
const children: ChildProcess[] = [];
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await rm(root, { recursive: true, force: true });
});

/** A child of this process that the killer takes for the program. */
async function start(program: string): Promise<ChildProcess> {
  const folder = join(root, "apps", program, "src");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "main.ts"), 'setInterval(() => {}, 1_000);\nconsole.log("up");\n');
  const child = spawn(process.execPath, [join(folder, "main.ts")], { stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  await once(child.stdout, "data");
  return child;
}

const kill = (program: Kill["program"]): Kill => ({ program, step: "keep", afterMs: 0, downMs: 0 });

test("a running program is killed and counted, and one that is down is missed", async () => {
  const broker = await start("broker");
  const killer = new Killer(process.pid);
  const exited = once(broker, "exit");
  await killer.strike(kill("broker"));
  assert.deepEqual(await exited, [null, "SIGKILL"]);
  await killer.strike(kill("broker"));
  assert.deepEqual([killer.kills.broker, killer.missed], [1, 1]);
});

test("a program that ends after it was found and before it is killed is missed", async () => {
  await start("function-klutch");
  // Throws the kernel's error, because no program ends at just that moment on demand.
  const killer = new Killer(process.pid, () => {
    throw Object.assign(new Error("kill ESRCH"), { code: "ESRCH" });
  });
  await killer.strike(kill("function-klutch"));
  assert.deepEqual([killer.kills["function-klutch"], killer.missed], [0, 1]);
});
