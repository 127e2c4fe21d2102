import assert from "node:assert/strict";
import { test } from "node:test";
import type { DynamicObject } from "@klutch/kube";
import type { Change } from "@klutch/kube-runtime";
import type { SharedCache } from "../cache/shared-cache.ts";
import { NamespaceMap } from "./namespace-map.ts";

/** Just what the map reads of a cache. */
function fakeCache(): {
  readonly cache: SharedCache;
  readonly set: (name: string, providerNamespace?: string) => void;
} {
  const objects = new Map<string, DynamicObject>();
  let handler: (change: Change<DynamicObject>, isNews: boolean) => void = () => {};
  const informer = {
    get: (key: string) => objects.get(key),
    onChange(next: typeof handler) {
      handler = next;
      return { [Symbol.dispose]: () => {} };
    },
  };
  return {
    cache: { informer, get: informer.get } as unknown as SharedCache,
    set(name, providerNamespace) {
      const key = `cluster-a/${name}`;
      const metadata = { namespace: "cluster-a", name };
      const object: DynamicObject = {
        apiVersion: "v1",
        kind: "APIServiceNamespace",
        metadata,
        status: { namespace: providerNamespace ?? "" },
      };
      if (providerNamespace === undefined) objects.delete(key);
      else objects.set(key, object);
      handler({ type: providerNamespace === undefined ? "deleted" : "added", key, object }, true);
    },
  };
}

test("a namespace that two mappings name belongs to neither, until one of them goes", () => {
  const { cache, set } = fakeCache();
  const map = new NamespaceMap(cache, "cluster-a");
  const told: string[] = [];
  set("one", "cluster-a-one");
  map.onChange((name) => told.push(name));
  set("two", "cluster-a-one");
  assert.equal(map.consumerNamespaceOf("cluster-a-one"), undefined);
  assert.deepEqual([map.mapping("one"), map.mapping("two")], [{ state: "pending" }, { state: "pending" }]);
  assert.deepEqual(told, ["two", "one"]);
  set("two");
  assert.equal(map.consumerNamespaceOf("cluster-a-one"), "one");
  assert.deepEqual(map.mapping("one"), { state: "ready", providerNamespace: "cluster-a-one" });
  assert.deepEqual(told.slice(2), ["two", "one"]);
});

test("a mapping that moves is found under its new namespace only", () => {
  const { cache, set } = fakeCache();
  const map = new NamespaceMap(cache, "cluster-a");
  set("one", "old");
  set("one", "new");
  assert.equal(map.consumerNamespaceOf("old"), undefined);
  assert.equal(map.consumerNamespaceOf("new"), "one");
});
