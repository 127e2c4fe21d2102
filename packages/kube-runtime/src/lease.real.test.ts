import assert from "node:assert/strict";
import { test } from "node:test";
import { createKubeClient, FencedError } from "@klutch/kube";
import { configMaps, type KubeObject } from "@klutch/kube-core";
import { leaseCluster, startFaultProxy, waitFor } from "@klutch/kube-testing";
import { LeaderElector } from "./leader-elector.ts";

const timing = { leaseDurationMs: 3000, renewDeadlineMs: 1800, retryPeriodMs: 200 };

test("who is cut off from its lease stops writing before the next one leads; a stopped leader hands over at once", async () => {
  await using cluster = await leaseCluster({ name: "lease" });
  const proxy = await startFaultProxy(cluster);
  const place = { namespace: "default", name: "agent", ...timing };
  await using cutOff = createKubeClient(proxy.config, { flowControl: false });
  const first = new LeaderElector({ ...place, client: cutOff, identity: "first" });
  const second = new LeaderElector({ ...place, client: cluster.client, identity: "second" });
  // The guarded client has its own way to the server: only the lease stops it.
  await using guarded = createKubeClient(cluster.config, { writeGuard: first });
  const stop = new AbortController();
  const write = (name: string): Promise<KubeObject> =>
    guarded.create<KubeObject>(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "default", name },
    });

  await assert.rejects(write("too-early"), FencedError);
  const running = [first.run({ signal: stop.signal })];
  const term = await first.whenLeading();
  running.push(second.run({ signal: stop.signal }));
  await write("leading");
  assert.equal(second.isLeader(), false);

  await proxy[Symbol.asyncDispose]();
  await waitFor("the first to stop leading", () => term.aborted, { timeoutMs: 6000 });
  assert.equal(second.isLeader(), false, "the lease passed on while the first could still write");
  await assert.rejects(write("too-late"), FencedError);
  await waitFor("the second to lead", () => second.isLeader(), { timeoutMs: 10_000 });
  await assert.rejects(write("much-too-late"), FencedError);

  stop.abort(new Error("stopping"));
  await Promise.all(running);
  await using client = createKubeClient(cluster.config);
  const third = new LeaderElector({ ...place, client, identity: "third" });
  const thirdStop = new AbortController();
  const started = performance.now();
  const thirdRun = third.run({ signal: thirdStop.signal });
  await third.whenLeading();
  assert.ok(performance.now() - started < timing.leaseDurationMs, "the lease was not given back");
  thirdStop.abort(new Error("stopping"));
  await thirdRun;
});
