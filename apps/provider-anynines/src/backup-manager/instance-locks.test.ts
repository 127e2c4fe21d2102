import assert from "node:assert/strict";
import { test } from "node:test";
import { NotYetError } from "@klutch/crossplane";
import { type Applicant, InstanceLocks } from "./instance-locks.ts";

const one: Applicant = { name: "the backup one", uid: "1", key: "i", isOpen: false, open: [] };
const two: Applicant = { ...one, name: "the backup two", uid: "2" };
const nothing = async (): Promise<void> => {};
const waitsFor = (name: string) => (error: unknown) =>
  error instanceof NotYetError && error.message.startsWith(name) && error.requeueAfterMs === 5_000;

test("an open call keeps its lock, and the others of its instance wait with its name", async () => {
  const locks = new InstanceLocks(() => true);
  await locks.hold(one, nothing, () => true);
  await assert.rejects(
    locks.hold(two, nothing, () => false),
    waitsFor("the backup one"),
  );
  await locks.hold({ ...two, key: "another instance" }, nothing, () => false);
  await locks.hold(one, nothing, () => false);
  await locks.hold(two, nothing, () => false);
});

test("a lock ends with an error, when it is released, and when its holder no longer exists", async () => {
  let isThere = true;
  const locks = new InstanceLocks(() => isThere);
  await assert.rejects(
    locks.hold(
      one,
      async () => assert.fail("broken"),
      () => false,
    ),
    /broken/,
  );
  await locks.hold(two, nothing, () => true);
  locks.release("2");
  await locks.hold(one, nothing, () => true);
  isThere = false;
  await locks.hold(two, nothing, () => true);
});

test("what only the caches show as open is waited for, but of several that are open any goes on", async () => {
  const locks = new InstanceLocks(() => true);
  await assert.rejects(
    locks.hold({ ...one, open: ["the restore r"] }, nothing, () => false),
    waitsFor("the restore r"),
  );
  await locks.hold({ ...one, isOpen: true, open: ["the backup two"] }, nothing, () => true);
  await assert.rejects(
    locks.hold({ ...two, isOpen: true }, nothing, () => true),
    waitsFor("the backup one"),
  );
});
