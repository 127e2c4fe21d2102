import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { readMachineRoom, requireRoom } from "./machine.ts";

test("a machine without room gets an error that names the shortage before anything is built", () => {
  const enough = { memoryMiB: 8_000, stateMiB: 10_000 };
  requireRoom(enough, "/state");
  assert.throws(() => requireRoom({ ...enough, memoryMiB: 900.5 }, "/state"), {
    message: /needs \d+ MiB of free memory, and 900 MiB are free/,
  });
  assert.throws(() => requireRoom({ ...enough, stateMiB: 10 }, "/state"), {
    message: /needs \d+ MiB of disk for \/state, and 10 MiB are free; .*--dir/,
  });
});

test("this machine's room is read", async () => {
  const { memoryMiB, stateMiB } = await readMachineRoom(tmpdir());
  assert.ok(memoryMiB > 0 && stateMiB > 0);
});
