import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { identify } from "@klutch/engines";
import { endLeftover, remember } from "./leftover.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-identity-"));
after(() => rm(folder, { recursive: true, force: true }));

test("a process that has another start time or another boot is a stranger's, and is left alone", async () => {
  const child = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
  const identity = await identify(child.pid ?? 0);
  assert.ok(identity !== undefined);
  for (const change of [{ startedAt: "1" }, { boot: "another" }]) {
    await writeFile(join(folder, "process.json"), JSON.stringify({ ...identity, ...change }));
    assert.equal(await endLeftover(folder), "none");
  }
  assert.equal(child.exitCode ?? child.signalCode, null);
  await remember(folder, identity.pid);
  const exited = once(child, "exit");
  assert.equal(await endLeftover(folder), "killed");
  await exited;
  assert.equal(await endLeftover(folder), "none");
});

test("what is written down is judged, not believed", async () => {
  for (const text of [
    "null",
    "{}",
    '{"pid":0,"startedAt":"1","boot":"x"}',
    '{"pid":"1","startedAt":"1","boot":"x"}',
  ]) {
    await writeFile(join(folder, "process.json"), text);
    assert.equal(await endLeftover(folder), "none");
  }
  await rm(join(folder, "process.json"));
  assert.equal(await endLeftover(folder), "none");
  assert.equal(await identify(2 ** 30), undefined);
});
