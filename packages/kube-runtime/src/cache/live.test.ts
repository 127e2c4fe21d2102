import assert from "node:assert/strict";
import { test } from "node:test";
import type { DynamicObject } from "@klutch/kube-core";
import { fakeClient } from "@klutch/kube-testing";
import { StaleCacheError } from "../errors.ts";
import { readLive } from "./live.ts";

const type = { group: "", version: "v1", plural: "things", kind: "Thing", namespaced: true };
const ref = { namespace: "a", name: "one" };
const { signal } = new AbortController();

function thing(resourceVersion: string): DynamicObject {
  return { apiVersion: "v1", kind: "Thing", metadata: { ...ref, resourceVersion } };
}

test("an object is read in the version that the cache shows; a newer one is shown by the cache from then on", async () => {
  const shown: (string | undefined)[] = [];
  const cache = { wrote: ({ metadata }: DynamicObject) => void shown.push(metadata.resourceVersion) };
  const read = (found: DynamicObject | undefined): Promise<DynamicObject> => {
    const client = fakeClient({ find: () => Promise.resolve(found) });
    return readLive({ client, type, ref, kept: thing("5"), cache }, signal);
  };
  assert.equal((await read(thing("5"))).metadata.resourceVersion, "5");
  assert.deepEqual(shown, []);
  await assert.rejects(read(thing("7")), StaleCacheError);
  assert.deepEqual(shown, ["7"]);
  await assert.rejects(read(undefined), StaleCacheError);
  assert.deepEqual(shown, ["7"]);
});
