import assert from "node:assert/strict";
import { test } from "node:test";
import { TakenNames } from "./taken-names.ts";

test("a decision is told when it changes, and free names that nothing asked about are not remembered", () => {
  const names = new TakenNames();
  const told: string[] = [];
  using _subscription = names.onChange((key) => void told.push(`${key} ${names.state(key)}`));
  names.decide("app/a", "free");
  for (const state of ["taken", "taken", "free"] as const) names.decide("app/b", state);
  assert.deepEqual(told, ["app/b taken", "app/b free"]);
  assert.deepEqual([...names.keys()], ["app/b"]);
});

test("a name is asked about once, and that it is free is told then", () => {
  const names = new TakenNames();
  const [asked, told]: [string[], string[]] = [[], []];
  using _asks = names.onAsk((key) => void asked.push(key));
  using _changes = names.onChange((key) => void told.push(key));
  for (let count = 0; count < 2; count++) names.ask("app/a");
  names.decide("app/a", "free");
  names.ask("app/a");
  assert.deepEqual([asked, told], [["app/a"], ["app/a"]]);
});

test("taken names are counted", () => {
  const names = new TakenNames();
  for (const key of ["app/a", "app/b", "app/b"]) names.decide(key, "taken");
  assert.equal(names.count, 2);
  names.decide("app/a", "free");
  assert.equal(names.count, 1);
});
