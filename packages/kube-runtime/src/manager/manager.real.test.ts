import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject, ResourceType } from "@klutch/kube-core";
import { leaseCluster, waitFor } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { Controller } from "../controller.ts";
import { Informer } from "../cache/informer.ts";
import { ClusterConnection } from "./cluster-connection.ts";
import { Manager } from "./manager.ts";
import { systemRuntime } from "./runtime.ts";

const coreType = (plural: string, kind: string): ResourceType => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced: true,
});
const configMaps = coreType("configmaps", "ConfigMap");
const leases: ResourceType = { ...coreType("leases", "Lease"), group: "coordination.k8s.io" };
const lease = { namespace: "default", name: "agent" };

test("of two processes one works, and the other goes on at once when the first has written its last object", async () => {
  await using cluster = await leaseCluster({ name: "manager" });
  const { client } = cluster;

  /** Answers each `request-*` ConfigMap with one that names who wrote it. */
  const startProcess = (identity: string): { readonly stop: () => Promise<void> } => {
    const runtime = systemRuntime({ logger: silentLogger, metrics: createMetrics() });
    const connection = new ClusterConnection({
      ...runtime,
      config: cluster.config,
      userAgent: identity,
      lease: { ...lease, identity },
    });
    const manager = new Manager({ ...runtime, connection });
    const informer = new Informer<KubeObject>({ client: connection.client, type: configMaps });
    const controller = new Controller({
      ...runtime,
      name: "answers",
      async reconcile(key) {
        const [, name = ""] = key.split("/");
        if (!name.startsWith("request-")) return;
        const answer = { namespace: "default", name: name.replace("request", "answer") };
        if ((await client.find(configMaps, answer)) !== undefined) return;
        // Slow enough that a stop finds it at work.
        await runtime.clock.sleep(300);
        await connection.client.create<KubeObject>(configMaps, {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { ...answer, labels: { by: identity } },
        });
      },
    });
    controller.watch(informer);
    manager.add(informer, controller);
    const stop = new AbortController();
    const running = manager.start({ signal: stop.signal });
    return {
      async stop() {
        stop.abort(new Error("SIGTERM"));
        await running;
      },
    };
  };
  const request = (name: string): Promise<KubeObject> =>
    client.create<KubeObject>(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "default", name: `request-${name}` },
    });
  const answeredBy = (name: string): Promise<string | undefined> =>
    waitFor(
      `the answer to ${name}`,
      async () =>
        (await client.find(configMaps, { namespace: "default", name: `answer-${name}` }))?.metadata.labels?.[
          "by"
        ],
    );

  const first = startProcess("first");
  await waitFor("the first to lead", () => client.find(leases, lease));
  const second = startProcess("second");
  await request("one");
  assert.equal(await answeredBy("one"), "first");
  await request("two");
  await request("three");
  await first.stop();
  const stoppedAt = performance.now();
  // What was at work was written before the lease was given back; the rest is the second's.
  assert.ok(["first", "second"].includes((await answeredBy("two")) ?? ""));
  await request("four");
  assert.equal(await answeredBy("four"), "second");
  assert.ok(performance.now() - stoppedAt < 10_000, "the second waited for the lease to expire");
  await second.stop();
});
