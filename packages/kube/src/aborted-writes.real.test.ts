import assert from "node:assert/strict";
import { test } from "node:test";
import { leaseCluster } from "@klutch/kube-testing";
import { configMaps, type DynamicObject } from "@klutch/kube-core";

const ref = { namespace: "default", name: "cut" };

test("writes that are aborted at any moment leave a process that works", async () => {
  // Over HTTP/2 this never came back and took all memory of the machine.
  await using cluster = await leaseCluster({ name: "cut" });
  const { client } = cluster;
  await client.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: ref });
  let left = 400;
  const write = async (): Promise<void> => {
    while (left-- > 0) {
      const abort = new AbortController();
      const patch = { data: { text: "x".repeat(3_000) } };
      const written = client.mergePatch(configMaps, ref, patch, { signal: abort.signal });
      const cut = setTimeout(() => abort.abort(new Error("cut")), left % 10);
      await written.catch((error: unknown) => assert.equal(String(error), "Error: cut"));
      clearTimeout(cut);
    }
  };
  await Promise.all(Array.from({ length: 6 }, write));
  await client.mergePatch(configMaps, ref, { data: { text: "last" } });
  const found = await client.get<DynamicObject>(configMaps, ref);
  assert.deepEqual(found["data"], { text: "last" });
});
