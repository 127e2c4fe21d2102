/** Tests the agent's requests when a claim is edited: one status write more than a copied status would need, and no read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { specDigestAnnotation, specObservedCondition, specObservedReason } from "@klutch/api";
import { type DynamicObject, recordsAt } from "@klutch/kube-core";
import { ApiServerModel, type FaultSource, seededRandom, VirtualClock } from "@klutch/kube-testing";
import { startAgent } from "./agent.ts";
import { databases, objectOf } from "./apis.ts";
import { serveNamespaces, serviceNamespaceOf } from "./control-plane.ts";
import { createTenant, prepareProvider } from "./tenant.ts";

const { type } = databases;
let requests: string[] = [];
const counting: FaultSource = {
  onRequest({ cluster, verb, type: asked }) {
    const isOurs = asked?.plural === type.plural && verb !== "list" && verb !== "watch";
    if (isOurs) requests.push(`${verb} ${cluster.endsWith("provider") ? "upstream" : "claim"}`);
    return undefined;
  },
  onWatchEvent: () => "deliver",
  latencyMs: () => 2,
};
const clock = new VirtualClock({ tieBreak: seededRandom(1) });
const provider = new ApiServerModel({ clock, uidSeed: 1 });
const client = provider.client({ clusterName: "provider-direct", user: "provider" });
const tenant = await clock.resolve(prepareProvider(client).then(() => createTenant(1, 1, clock, client)));
const stop = new AbortController();
const namespaces = serveNamespaces(client, clock, seededRandom(3), stop.signal);
const agent = startAgent({
  tenant,
  provider,
  identity: "agent",
  faults: counting,
  clock,
  random: seededRandom(2),
  onWrite: () => undefined,
});
const claim = { namespace: "app", name: "one" };
const upstream = { namespace: serviceNamespaceOf(tenant, "app"), name: "one" };

/** Returns the agent's requests for the kind during `work` and its consequences, sorted. */
async function requestsFor(work: () => Promise<unknown>): Promise<readonly string[]> {
  requests = [];
  await clock.resolve(work());
  await clock.advance(10_000);
  return requests.toSorted();
}

/** The provider has looked at what its object is now. */
async function answer(count: number): Promise<void> {
  const { metadata } = await client.get<DynamicObject>(type, upstream);
  const { generation: observedGeneration, annotations } = metadata;
  const said = { status: "True", observedGeneration, lastTransitionTime: "2026-01-01T00:00:00Z" };
  const reason = specObservedReason(annotations?.[specDigestAnnotation] ?? "");
  const conditions = [
    { ...said, type: "Ready", reason: "Available" },
    { ...said, type: specObservedCondition, reason },
  ];
  await client.mergePatch(
    type,
    upstream,
    { status: { count, observedGeneration, conditions } },
    { subresource: "status" },
  );
}

async function edit(patch: object): Promise<void> {
  await tenant.direct.mergePatch(type, claim, patch);
}

test("a claim that is answered at once needs a finalizer, a copy and one status", async () => {
  await clock.advance(10_000);
  await clock.resolve(tenant.direct.create(type, objectOf(databases, "app", "first", {})));
  await clock.advance(10_000);
  const seen = await requestsFor(async () => {
    await tenant.direct.create(type, objectOf(databases, "app", "one", { size: 1 }));
    await clock.sleep(100);
    await answer(1);
  });
  assert.deepEqual(seen, ["apply claim", "apply upstream", "jsonPatch claim"]);
});

test("an edit of the spec needs a copy, and two statuses: that it was not looked at yet, and the answer", async () => {
  const edited = await requestsFor(() => edit({ spec: { size: 2 } }));
  assert.deepEqual(edited, ["apply upstream", "jsonPatch claim"]);
  const { status } = await clock.resolve(tenant.direct.get<DynamicObject>(type, claim));
  assert.equal(recordsAt(status, "conditions")[0]?.["reason"], "SpecNotObserved");
  assert.deepEqual(await requestsFor(() => answer(2)), ["jsonPatch claim"]);
});

test("numbers that rise for what was said before need no write, and one read of the claim", async () => {
  await requestsFor(() => edit({ spec: { size: 3 } }));
  const { metadata, status } = await clock.resolve(client.get<DynamicObject>(type, upstream));
  const { generation: observedGeneration } = metadata;
  const conditions = recordsAt(status, "conditions").map((one) => ({ ...one, observedGeneration }));
  const patch = { status: { observedGeneration, conditions } };
  const seen = await requestsFor(() => client.mergePatch(type, upstream, patch, { subresource: "status" }));
  assert.deepEqual(seen, ["get claim"]);
  await requestsFor(() => answer(3));
});

test("an edit of a label needs a copy and no status, and a status without an edit is written once", async () => {
  const labelled = await requestsFor(() => edit({ metadata: { labels: { team: "blue" } } }));
  assert.deepEqual(labelled, ["apply upstream"]);
  assert.deepEqual(await requestsFor(() => answer(4)), ["jsonPatch claim"]);
});

test.after(async () => {
  agent.kill();
  stop.abort();
  await namespaces;
  await clock.advance(1_000);
});
