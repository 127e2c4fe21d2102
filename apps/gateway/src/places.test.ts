import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";
import { Turns } from "./places.ts";

/** Asks for a turn and says who got one. */
function line(turns: Turns) {
  const got: string[] = [];
  const held = new Map<string, Disposable>();
  return {
    got,
    ask(name: string, account: string, signal = new AbortController().signal): Promise<void> {
      return turns.take(account, signal).then((turn) => {
        got.push(name);
        held.set(name, turn);
      });
    },
    async end(name: string): Promise<void> {
      held.get(name)?.[Symbol.dispose]();
      await setImmediate();
    },
  };
}

test("an account's turns are taken in the order in which they were asked for, and another account does not wait for them", async () => {
  const turns = new Turns(2);
  const row = line(turns);
  const { got } = row;
  const asked = ["a", "b", "c", "d"].map((name) => row.ask(name, "red"));
  await row.ask("other", "blue");
  await setImmediate();
  assert.deepEqual(got, ["a", "b", "other"]);
  await row.end("b");
  await row.end("b");
  assert.deepEqual(got, ["a", "b", "other", "c"]);
  await row.end("a");
  await Promise.all(asked);
  assert.deepEqual(got, ["a", "b", "other", "c", "d"]);
  for (const name of ["c", "d", "other"]) await row.end(name);
  assert.equal(turns.accounts, 0);
});

test("one that leaves the line takes no turn from those behind it", async () => {
  const turns = new Turns(1);
  const row = line(turns);
  const { got } = row;
  await row.ask("a", "red");
  const gone = new AbortController();
  const left = row.ask("b", "red", gone.signal);
  const last = row.ask("c", "red");
  gone.abort(new Error("the client has gone"));
  await assert.rejects(left, /the client has gone/);
  await row.end("a");
  await last;
  await assert.rejects(row.ask("d", "red", gone.signal), /the client has gone/);
  await row.end("c");
  assert.deepEqual(got, ["a", "c"]);
  assert.equal(turns.accounts, 0);
});
