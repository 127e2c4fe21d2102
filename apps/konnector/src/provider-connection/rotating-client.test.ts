import assert from "node:assert/strict";
import { test } from "node:test";
import type { WatchEvent } from "@klutch/kube";
import { type DynamicObject, secrets as type } from "@klutch/kube-core";
import { fakeClient } from "@klutch/kube-testing";
import { rotatingClient } from "./rotating-client.ts";

const ref = { namespace: "a", name: "b" };
const object = (name: string): DynamicObject => ({ apiVersion: "v1", kind: "Secret", metadata: { name } });

test("new requests use the new client at once; the old one closes when its last request and watch have ended", async () => {
  const closed: string[] = [];
  const answer = Promise.withResolvers<DynamicObject>();
  const end = Promise.withResolvers<void>();
  const first = fakeClient({
    get: () => answer.promise,
    async *watch() {
      yield { type: "ADDED", object: object("first") };
      await end.promise;
    },
    dispose: () => closed.push("first"),
  });
  const second = fakeClient({
    get: () => Promise.resolve(object("second")),
    dispose: () => closed.push("second"),
  });
  const client = rotatingClient(first);
  const inFlight = client.get<DynamicObject>(type, ref);
  const watch = client.watch<DynamicObject>(type)[Symbol.asyncIterator]();
  const event: IteratorResult<WatchEvent<DynamicObject>> = await watch.next();
  assert.equal(event.done, false);
  await client.rotate(second);
  assert.equal((await client.get<DynamicObject>(type, ref)).metadata.name, "second");
  assert.deepEqual(closed, []);
  answer.resolve(object("first"));
  assert.equal((await inFlight).metadata.name, "first");
  assert.deepEqual(closed, []);
  end.resolve();
  assert.equal((await watch.next()).done, true);
  assert.deepEqual(closed, ["first"]);
  await client[Symbol.asyncDispose]();
  assert.deepEqual(closed, ["first", "second"]);
});
