import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, type KubeClient } from "@klutch/kube";
import type { DynamicObject, ObjectRef, ResourceType } from "@klutch/kube-core";
import { VirtualClock } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { defaultTiming, type RuntimeDependencies } from "../../clusters.ts";
import { konnectorMetrics } from "../../counters.ts";
import { CrdGuard } from "./crd-guard.ts";
import { DeletionBreaker } from "./deletion-breaker.ts";
import { OrphanCollector } from "./orphan-collector.ts";

const type: ResourceType = {
  group: "x.example",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};
const { graceMs, breakerLimit } = defaultTiming;

interface Setup {
  readonly crdCreatedAt?: string;
  /** Answer of a live read of a claim; default: the API server's own 404. */
  readonly absence?: ApiError;
}

/** Fakes of both clusters: an app cluster without claims, and a provider that records its calls. */
function setUp({ crdCreatedAt = "2026-01-01T00:00:00Z", absence }: Setup = {}) {
  const clock = new VirtualClock({ tieBreak: () => 0 });
  const done: string[] = [];
  const notFound = absence ?? new ApiError({ status: 404, reason: "NotFound", message: "x" });
  const crd = {
    metadata: { creationTimestamp: crdCreatedAt },
    status: { conditions: [{ type: "Established", status: "True" }] },
  };
  const consumerClient = {
    list: async () => ({ items: [crd], resourceVersion: "1" }),
    find: async () => ({ metadata: { uid: "kube-system" } }),
    get: async () => {
      throw notFound;
    },
  };
  const providerClient = {
    find: async (_type: ResourceType, { name }: ObjectRef) => ({
      metadata: { uid: name, creationTimestamp: "2026-01-02T00:00:00Z" },
    }),
    delete: async (_type: ResourceType, { name }: ObjectRef) => void done.push(`delete ${name}`),
    mergePatch: async (_type: ResourceType, { name }: ObjectRef) => void done.push(`unmark ${name}`),
  };
  const metrics = konnectorMetrics(createMetrics());
  const random = (): number => 0;
  const runtime: RuntimeDependencies = {
    logger: silentLogger,
    metrics,
    clock,
    random,
    timing: defaultTiming,
  };
  const consumer = {
    side: "consumer",
    client: consumerClient as unknown as KubeClient,
    uid: "kube-system",
  } as never;
  const provider = { side: "provider", client: providerClient as unknown as KubeClient } as never;
  const breaker = new DeletionBreaker({
    name: "widgets.x.example",
    clock,
    limit: 100,
    settleMs: 0,
    onChange: () => {},
  });
  const collector = new OrphanCollector(consumer, provider, runtime);
  const guard = new CrdGuard(consumer, type, clock);
  const reconcile = (name: string): Promise<unknown> => {
    const orphan: DynamicObject = {
      apiVersion: "x.example/v1",
      kind: "Widget",
      metadata: { name, uid: name },
    };
    const consumerRefs = [{ namespace: "app", name }];
    return collector.reconcile(
      { type, providerType: type, key: `app/${name}`, consumerRefs, orphan, breaker, crd: guard },
      { signal: new AbortController().signal, logger: runtime.logger },
    );
  };
  return { clock, done, breaker, reconcile };
}

test("an orphan is deleted after two live reads", async () => {
  const { clock, done, reconcile } = setUp();
  await reconcile("a");
  assert.deepEqual(done, []);
  await clock.advance(graceMs);
  await reconcile("a");
  assert.deepEqual(done, ["delete a"]);
});

test("more orphans at once than the limit are held before the first of them dies, and all go once they are released", async () => {
  const { clock, done, breaker, reconcile } = setUp();
  const names = Array.from({ length: breakerLimit + 1 }, (_, index) => `o${index}`);
  for (const name of names) await reconcile(name);
  await clock.advance(graceMs);
  for (const name of names) await reconcile(name);
  assert.deepEqual(done, []);
  assert.ok(breaker.isHeld);
  breaker.release();
  for (const name of names) await reconcile(name);
  assert.equal(done.length, names.length);
});

test("an orphan that is older than the CRD of the app cluster loses our mark, so that its claim is restored", async () => {
  const { done, reconcile } = setUp({ crdCreatedAt: "2026-01-03T00:00:00Z" });
  await reconcile("a");
  assert.deepEqual(done, ["unmark a"]);
});

test("a 404 that is not the API server's own proves nothing", async () => {
  const absence = new ApiError({ status: 404, reason: "", message: "<html>Not Found</html>" });
  const { clock, done, reconcile } = setUp({ absence });
  await assert.rejects(reconcile("a"));
  await clock.advance(graceMs);
  await assert.rejects(reconcile("a"));
  assert.deepEqual(done, []);
});
