import assert from "node:assert/strict";
import { test } from "node:test";
import { adoptedAnnotation, boundAnnotation, clusterNamespaceAnnotation, syncerFinalizer } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { ApiServerModel, seededFaults, seededRandom, VirtualClock } from "@klutch/kube-testing";
import { startAgent } from "./agent.ts";
import { zones } from "./apis.ts";
import { objectsOf } from "./snapshot.ts";
import { createTenant, prepareProvider } from "./tenant.ts";

const noFaults = {
  error: 0,
  lostAnswer: 0,
  lostRequest: 0,
  partition: 0,
  watchDelay: 0,
  watchDrop: 0,
  watchDuplicate: 0,
  watchStall: 0,
  latencyMs: 2,
  maxWatchDelayMs: 0,
};
const clock = new VirtualClock({ tieBreak: seededRandom(1) });
const provider = new ApiServerModel({ clock, uidSeed: 1 });
const client = provider.client({ clusterName: "provider-direct", user: "provider" });
const tenant = await clock.resolve(prepareProvider(client).then(() => createTenant(1, 1, clock, client)));
const agent = startAgent({
  tenant,
  provider,
  identity: "agent",
  faults: seededFaults(1, noFaults),
  clock,
  random: seededRandom(2),
  providerObjectsLimit: 3,
  onWrite: () => undefined,
});

async function plant(name: string): Promise<void> {
  const annotations = { [clusterNamespaceAnnotation]: tenant.namespace };
  await clock.resolve(
    client.create<DynamicObject>(zones.type, {
      apiVersion: "sim.klutch.example/v1",
      kind: "Zone",
      metadata: { name, annotations },
      spec: { size: 1 },
    }),
  );
  await clock.advance(5_000);
}

const claims = (): Map<string | undefined, DynamicObject["metadata"]> =>
  new Map(objectsOf(tenant.consumer, zones.type).map(({ metadata }) => [metadata.name, metadata]));

test("an object that the provider made stays known as that when our other marks are put on it again", async () => {
  await clock.advance(5_000);
  await plant(`${tenant.namespace}-made`);
  assert.equal(claims().get("made")?.annotations?.[adoptedAnnotation], "true");
  const patch = { metadata: { finalizers: null, annotations: { [boundAnnotation]: null } } };
  await clock.resolve(tenant.direct.mergePatch(zones.type, { name: "made" }, patch));
  await clock.advance(5_000);
  const { finalizers, annotations } = claims().get("made") ?? {};
  assert.deepEqual(finalizers, [syncerFinalizer]);
  assert.equal(annotations?.[boundAnnotation], "true");
  assert.equal(annotations?.[adoptedAnnotation], "true");
});

test("cluster-scoped objects are copied to the consumer up to the limit, as those in a namespace do", async () => {
  for (const name of ["1", "2", "3", "4"]) await plant(`${tenant.namespace}-more-${name}`);
  assert.equal(claims().size, 3);
});

test.after(async () => {
  agent.kill();
  await clock.advance(1_000);
});
