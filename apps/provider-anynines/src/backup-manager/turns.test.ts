import assert from "node:assert/strict";
import { test } from "node:test";
import { NotYetError } from "@klutch/crossplane";
import { type Applicant, Turns } from "./turns.ts";

const one: Applicant = { name: "the backup one", uid: "1", key: "i", isOpen: false, open: [] };
const two: Applicant = { ...one, name: "the backup two", uid: "2" };
const nothing = async (): Promise<void> => {};
const waitsFor = (name: string) => (error: unknown) =>
  error instanceof NotYetError && error.message.startsWith(name) && error.requeueAfterMs === 5_000;

test("an open call keeps its turn, and the others of its instance wait with its name", async () => {
  const turns = new Turns(() => true);
  await turns.take(one, nothing, () => true);
  await assert.rejects(
    turns.take(two, nothing, () => false),
    waitsFor("the backup one"),
  );
  await turns.take({ ...two, key: "another instance" }, nothing, () => false);
  await turns.take(one, nothing, () => false);
  await turns.take(two, nothing, () => false);
});

test("a turn ends with an error, when it is left, and when its holder is gone", async () => {
  let isThere = true;
  const turns = new Turns(() => isThere);
  await assert.rejects(
    turns.take(
      one,
      async () => assert.fail("broken"),
      () => false,
    ),
    /broken/,
  );
  await turns.take(two, nothing, () => true);
  turns.leave("2");
  await turns.take(one, nothing, () => true);
  isThere = false;
  await turns.take(two, nothing, () => true);
});

test("what only the caches show as open is waited for, but of several that are open any goes on", async () => {
  const turns = new Turns(() => true);
  await assert.rejects(
    turns.take({ ...one, open: ["the restore r"] }, nothing, () => false),
    waitsFor("the restore r"),
  );
  await turns.take({ ...one, isOpen: true, open: ["the backup two"] }, nothing, () => true);
  await assert.rejects(
    turns.take({ ...two, isOpen: true }, nothing, () => true),
    waitsFor("the backup one"),
  );
});
