import assert from "node:assert/strict";
import { test } from "node:test";
import { CreationHold } from "./creation-hold.ts";

function start(): { readonly hold: CreationHold; readonly said: (number | undefined)[] } {
  const said: (number | undefined)[] = [];
  const onChange = (since: number | undefined): void => void said.push(since);
  return { hold: new CreationHold({ name: "widgets.example.org", clock: { now: () => 7 }, onChange }), said };
}

const isNoticed = (version: string, before: string | undefined): boolean => {
  const { hold } = start();
  hold.listed(version, before);
  return hold.held !== undefined;
};

test("a list that is older than what was seen before shows a restore; versions are compared as numbers", () => {
  assert.deepEqual(
    [isNoticed("999", "1000"), isNoticed("1000", "999"), isNoticed("5", "5")],
    [true, false, false],
  );
});

test("a leap of the versions shows a restore that raised them; what a busy server counts does not", () => {
  assert.deepEqual([isNoticed("1000000100", "100"), isNoticed("400000000", "100")], [true, false]);
});

test("a version that is no number never shows a restore, whatever a provider sends", () => {
  const strange = ["", "abc", "-1", "1.5", "0x10", "01", "9".repeat(5_000)];
  for (const version of strange)
    assert.deepEqual(
      [isNoticed(version, "100"), isNoticed("100", version)],
      [false, false],
      version.slice(0, 9),
    );
  assert.equal(isNoticed("100", undefined), false);
});

test("the first held claim is reported once, and the last one to go takes the report back", () => {
  const { hold, said } = start();
  hold.listed("1", "2");
  for (const key of ["a", "b"]) hold.judged(key, true);
  hold.judged("c", false);
  assert.deepEqual(said, [7]);
  hold.judged("a", false);
  assert.deepEqual(said, [7]);
  hold.judged("b", false);
  assert.deepEqual(said, [7, undefined]);
});

test("a restore is counted, and the highest version starts again from its list", () => {
  const { hold } = start();
  hold.saw("500");
  hold.saw("400");
  assert.deepEqual([hold.highest, hold.restores], ["500", 0]);
  hold.listed("100", "500");
  assert.deepEqual([hold.highest, hold.restores], ["100", 1]);
});

test("the hold of an earlier process goes on with its time, and a person's word ends it", () => {
  const { hold, said } = start();
  hold.resume(3);
  assert.equal(hold.held?.since, 3);
  hold.judged("a", true);
  assert.deepEqual(said, []);
  hold.release();
  assert.deepEqual([hold.held, said], [undefined, [undefined]]);
});
