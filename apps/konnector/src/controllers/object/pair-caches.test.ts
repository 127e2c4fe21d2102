import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeClient } from "@klutch/kube";
import { CachePool } from "@klutch/kube-runtime";
import { seededRandom } from "@klutch/kube-testing";
import type { Digest } from "@klutch/sync";
import { silentLogger } from "@klutch/telemetry";
import type { BoundResource } from "./bound-resource.ts";
import { PairCaches } from "./pair-caches.ts";
import { type ObjectDeed, carryOut, places, startPairServers } from "./testing/pair-servers.ts";

/** Caches of both sides over the models of two servers. Parts that they do not use are missing. */
async function start(stack: AsyncDisposableStack): Promise<{
  readonly caches: PairCaches;
  readonly does: (deed: ObjectDeed["do"]) => Promise<void>;
}> {
  const servers = await startPairServers(true, {} as never);
  const { clock, type, view, tenant, consumer, provider } = servers;
  const random = seededRandom(1);
  const poolOf = (client: KubeClient): CachePool<Digest> =>
    stack.use(new CachePool<Digest>({ client, logger: silentLogger, clock, random }));
  const nothing = (): Disposable => ({ [Symbol.dispose]: () => undefined });
  const bound = {
    type,
    providerType: type,
    isolation: "Prefixed",
    view,
    clusterWide: true,
    consumer: { client: consumer, pool: poolOf(consumer) },
    provider: { client: provider, pool: poolOf(provider), tenant },
    namespaces: {
      consumerNamespaceOf: () => places.app,
      providerNamespaceOf: () => places.mirror,
      inhabit: nothing,
      onChange: nothing,
    },
    breaker: { setAlive: () => undefined },
    limit: { counted: () => undefined },
    takenSecrets: { onChange: nothing },
    secretCauses: { use: nothing },
    runtime: { clock, logger: silentLogger },
  } as unknown as BoundResource;
  const caches = stack.use(new PairCaches(bound, () => undefined));
  const does = async (deed: ObjectDeed["do"]): Promise<void> => {
    await carryOut(servers, { do: deed, name: "one", value: 1, spec: {} } as ObjectDeed);
    await clock.advance(1_000);
  };
  await clock.advance(1_000);
  return { caches, does };
}

test("an upstream object counts as gone when the provider showed its deletion, and no other one since", async () => {
  await using stack = new AsyncDisposableStack();
  const { caches, does } = await start(stack);
  const ref = { namespace: places.app, name: "one" };
  const seen: boolean[] = [];
  for (const deed of ["apply", "createUpstream", "drift", "deleteUpstream", "createUpstream"] as const) {
    await does(deed);
    seen.push(caches.wasSeenGoing(ref));
  }
  assert.deepEqual(seen, [false, false, false, true, false]);
  await does("deleteUpstream");
  caches.forget(`${ref.namespace}/${ref.name}`);
  assert.equal(caches.wasSeenGoing(ref), false, "the pair is forgotten");
});
