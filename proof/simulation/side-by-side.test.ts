/** A new claim's marks and its upstream object go out side by side: what becomes of the object when the claim is gone before its marks arrive. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { boundAnnotation, clusterNamespaceAnnotation, syncerFinalizer } from "@klutch/api";
import { type DynamicObject, valueAt } from "@klutch/kube-core";
import { ApiServerModel, type FaultSource, seededRandom, VirtualClock } from "@klutch/kube-testing";
import { type AgentWrite, type SimulatedAgent, startAgent } from "./agent.ts";
import { objectOf, zones } from "./apis.ts";
import { objectsOf } from "./snapshot.ts";
import { createTenant, prepareProvider } from "./tenant.ts";

/** Longer than the way of everything else. */
const slowMs = 50;

/** Each way takes a millisecond, but that of marks. */
class Links implements FaultSource {
  /** Keeps the provider's events of zones from the agent. */
  isBlind = false;
  refuses = false;
  #isMark = false;

  onRequest({
    cluster,
    verb,
    type,
  }: Parameters<FaultSource["onRequest"]>[0]): ReturnType<FaultSource["onRequest"]> {
    const isApply = verb === "apply" && type?.plural === "zones";
    const isOfProvider = cluster.endsWith("provider");
    this.#isMark = isApply && !isOfProvider;
    return isApply && isOfProvider && this.refuses ? { kind: "error", status: 403 } : undefined;
  }

  onWatchEvent({
    cluster,
    type,
  }: Parameters<FaultSource["onWatchEvent"]>[0]): ReturnType<FaultSource["onWatchEvent"]> {
    const isHidden = this.isBlind && cluster.endsWith("provider") && type.plural === "zones";
    return isHidden ? { delayMs: 10_000 } : "deliver";
  }

  latencyMs(): number {
    return this.#isMark ? slowMs : 1;
  }
}

const clock = new VirtualClock({ tieBreak: seededRandom(1) });
const provider = new ApiServerModel({ clock, uidSeed: 1 });
const client = provider.client({ clusterName: "provider-direct", user: "provider" });
const tenant = await clock.resolve(prepareProvider(client).then(() => createTenant(1, 1, clock, client)));
const user = tenant.consumer.client({ clusterName: "user", user: "user" });
const links = new Links();
let deletes: string[] = [];
let agent = start("first");
await clock.advance(10_000);

function start(identity: string): SimulatedAgent {
  const onWrite = ({ side, verb, type, name }: AgentWrite): void => {
    if (verb === "delete") deletes.push(`${side} ${type.plural} ${name}`);
  };
  const random = seededRandom(2);
  return startAgent({ tenant, provider, identity, faults: links, clock, random, onWrite });
}

const claim = (name: string): DynamicObject | undefined =>
  objectsOf(tenant.consumer, zones.type).find(({ metadata }) => metadata.name === name);
const upstream = (name: string): DynamicObject | undefined =>
  objectsOf(provider, zones.type).find(({ metadata }) => metadata.name === `${tenant.namespace}-${name}`);
const create = (name: string, size: number): Promise<unknown> =>
  clock.resolve(user.create(zones.type, objectOf(zones, "", name, { size })));
const remove = (name: string): Promise<unknown> => clock.resolve(user.delete(zones.type, { name }));

/** Creates a claim and lets time pass until its upstream object is there, and its marks are on their way. */
async function begin(name: string): Promise<void> {
  deletes = [];
  await create(name, 1);
  await clock.advance(slowMs / 2);
  assert.ok(upstream(name), "the upstream object is there");
  assert.equal(claim(name)?.metadata.finalizers, undefined, "the marks are not");
}

test("the upstream object does not wait for the claim's marks, and both are there in the end", async () => {
  await begin("both");
  await clock.advance(slowMs);
  assert.deepEqual(claim("both")?.metadata.finalizers, [syncerFinalizer]);
  assert.ok(upstream("both"));
  assert.deepEqual(deletes, []);
});

test("what was made for a claim that is gone before its marks arrive is deleted at once", async () => {
  await begin("gone");
  await remove("gone");
  await clock.advance(slowMs * 2);
  assert.equal(claim("gone"), undefined);
  assert.equal(upstream("gone"), undefined);
  assert.deepEqual(deletes, [`provider zones ${tenant.namespace}-gone`]);
});

test("of a claim that was created again meanwhile one upstream object is left, with what the new one wants", async () => {
  await begin("again");
  await remove("again");
  await create("again", 2);
  await clock.advance(30_000);
  assert.deepEqual(claim("again")?.metadata.finalizers, [syncerFinalizer]);
  assert.equal(valueAt(upstream("again")?.spec, "size"), 2);
});

test("an object that was there before is not deleted with the claim, but as every orphan: after two looks with a time between", async () => {
  links.isBlind = true;
  const annotations = { [clusterNamespaceAnnotation]: tenant.namespace, [boundAnnotation]: "true" };
  const { metadata, ...rest } = objectOf(zones, "", `${tenant.namespace}-there`, { size: 7 });
  await clock.resolve(client.create(zones.type, { ...rest, metadata: { ...metadata, annotations } }));
  await begin("there");
  await remove("there");
  await clock.advance(1_000);
  links.isBlind = false;
  assert.ok(upstream("there"), "it is there");
  assert.deepEqual(deletes, []);
  await clock.advance(60_000);
  assert.equal(upstream("there"), undefined);
});

test("what an agent made before it was killed goes as an orphan when its claim is gone", async () => {
  await begin("orphan");
  agent.kill();
  await clock.advance(slowMs * 2);
  await user
    .mergePatch(zones.type, { name: "orphan" }, { metadata: { finalizers: null } })
    .catch(() => undefined);
  await remove("orphan");
  agent = start("second");
  await clock.advance(60_000);
  assert.equal(claim("orphan"), undefined);
  assert.equal(upstream("orphan"), undefined);
});

test("a claim whose upstream object is refused has its marks, and goes when it is deleted", async () => {
  links.refuses = true;
  await create("refused", 1);
  await clock.advance(slowMs * 3);
  assert.deepEqual(claim("refused")?.metadata.finalizers, [syncerFinalizer]);
  await remove("refused");
  links.refuses = false;
  await clock.advance(60_000);
  assert.equal(claim("refused"), undefined);
  assert.equal(upstream("refused"), undefined);
});

test.after(async () => {
  agent.kill();
  await clock.advance(1_000);
});
