import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import type { Change, ReadYourWritesCache } from "@klutch/kube-runtime";
import { waitFor } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { NamespaceMappings } from "./namespace-mappings.ts";

/** Just what the mappings read of a cache. */
function fakeCache(): {
  readonly cache: ReadYourWritesCache;
  readonly set: (name: string, providerNamespace?: string) => void;
} {
  const objects = new Map<string, DynamicObject>();
  let handler: (change: Change<DynamicObject>, isInInitialList: boolean) => void = () => {};
  const informer = {
    get: (key: string) => objects.get(key),
    onChange(next: typeof handler) {
      handler = next;
      return { [Symbol.dispose]: () => {} };
    },
  };
  return {
    cache: { informer, get: informer.get } as unknown as ReadYourWritesCache,
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
      handler({ type: providerNamespace === undefined ? "deleted" : "added", key, object }, false);
    },
  };
}

/** A map of a tenant whose app cluster has every namespace, and whose provider proves every service namespace. */
function mapOf(mappings: ReadYourWritesCache): NamespaceMappings {
  const namespace: DynamicObject = { apiVersion: "v1", kind: "Namespace", metadata: {} };
  const everything = { get: () => namespace, informer: { onChange: () => ({ [Symbol.dispose]: () => {} }) } };
  return new NamespaceMappings({
    mappings,
    consumerNamespaces: everything as unknown as ReadYourWritesCache,
    clusterBindings: fakeCache().cache,
    tenant: { namespace: "cluster-a", namespaceUid: "u" },
    proofOf: () => Promise.resolve("cluster-a/one"),
    clock: systemClock,
    logger: silentLogger,
  });
}

test("a namespace that two mappings name belongs to neither, until one of them goes", () => {
  const { cache, set } = fakeCache();
  const map = mapOf(cache);
  const reported: string[] = [];
  set("one", "cluster-a-one");
  map.onChange((name) => reported.push(name));
  set("two", "cluster-a-one");
  assert.equal(map.consumerNamespaceOf("cluster-a-one"), undefined);
  assert.deepEqual([map.mapping("one").state, map.mapping("two").state], ["pending", "pending"]);
  assert.deepEqual(reported.toSorted(), ["one", "two"]);
  set("two");
  assert.equal(map.consumerNamespaceOf("cluster-a-one"), "one");
  assert.deepEqual(map.mapping("one"), { state: "ready", providerNamespace: "cluster-a-one" });
  assert.deepEqual(reported.slice(2).toSorted(), ["one", "two"]);
});

test("a mapping that moves is found under its new namespace only", async () => {
  const { cache, set } = fakeCache();
  const map = mapOf(cache);
  set("one", "old");
  set("one", "new");
  await waitFor("the proof", () => map.consumerNamespaceOf("new") !== undefined);
  assert.equal(map.consumerNamespaceOf("old"), undefined);
  assert.equal(map.consumerNamespaceOf("new"), "one");
});
