import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { silentLogger } from "@klutch/telemetry";
import { stopOnSignals } from "./stop-signals.ts";

test("the first signal stops in order, a second one of either kind ends the process at once", () => {
  const emitter = new EventEmitter();
  const exits: number[] = [];
  const source = {
    on: (name: string, listener: () => void) => emitter.on(name, listener),
    exit: (code: number) => exits.push(code),
  };
  const signal = stopOnSignals(source, silentLogger);
  assert.equal(signal.aborted, false);
  emitter.emit("SIGTERM");
  assert.equal(signal.aborted, true);
  assert.match(String(signal.reason), /SIGTERM/);
  assert.deepEqual(exits, []);
  emitter.emit("SIGINT");
  assert.deepEqual(exits, [1]);
});
