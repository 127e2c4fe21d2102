import assert from "node:assert/strict";
import { test } from "node:test";
import {
  apiServiceBindings,
  consumerNamespace,
  providerVersionAnnotation,
  releaseCreationsAnnotation,
} from "@klutch/api";
import { type DynamicObject, keyOf, namespaces, type NewCondition } from "@klutch/kube-core";
import {
  ApiServerModel,
  type FaultSource,
  namespaceObject,
  objectOfType,
  VirtualClock,
} from "@klutch/kube-testing";
import { createLogger } from "@klutch/telemetry";
import { CreationHolds } from "./creation-holds.ts";

const name = "widgets.example.org";
const about = { namespace: consumerNamespace, name };
const { signal } = new AbortController();
const minute = 60_000;

interface Fixture {
  readonly clock: VirtualClock;
  /** Conditions that were reported and taken back, in order. */
  readonly said: readonly string[];
  readonly log: readonly string[];
  /** The app cluster refuses the konnector's writes of annotations. */
  refuses: boolean;
  readonly newProcess: () => CreationHolds;
  readonly binding: () => Promise<DynamicObject>;
  readonly patch: (patch: object) => Promise<unknown>;
  readonly record: (holds: CreationHolds) => Promise<number>;
  readonly recorded: () => Promise<string | undefined>;
}

/** A binding in a model of the app cluster's API server. */
async function start(): Promise<Fixture> {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  // The status is no subresource, so that tests write it as they write annotations.
  server.register({ type: apiServiceBindings, statusSubresource: false });
  const user = server.client({ clusterName: "user" });
  await user.create(namespaces, namespaceObject(consumerNamespace));
  await user.create(apiServiceBindings, objectOfType(apiServiceBindings, about));
  const faults: FaultSource = {
    onRequest: () => (fixture.refuses ? { kind: "error", status: 403 } : undefined),
    onWatchEvent: () => "deliver",
    latencyMs: () => 0,
  };
  const client = server.client({ clusterName: "konnector", faults });
  const said: string[] = [];
  const log: string[] = [];
  const status = {
    report: (_key: string, { type, reason = "" }: NewCondition) => void said.push(`${type} ${reason}`),
    retract: (_key: string, type: string) => void said.push(`no ${type}`),
  };
  const logger = createLogger({ name: "konnector", level: "warn", write: (line) => log.push(line) });
  const binding = (): Promise<DynamicObject> => user.get(apiServiceBindings, about);
  const fixture: Fixture = {
    clock,
    said,
    log,
    refuses: false,
    newProcess: () => new CreationHolds(status, { clock, logger }),
    binding,
    patch: (patch) => user.mergePatch(apiServiceBindings, about, patch),
    record: async (holds) =>
      holds.record({ client, bindingType: apiServiceBindings }, await binding(), signal),
    recorded: async () => (await binding()).metadata.annotations?.[providerVersionAnnotation],
  };
  return fixture;
}

/** A process that was started on the binding, whose provider has come to a version. */
async function startAt(fixture: Fixture, version: string): Promise<CreationHolds> {
  const holds = fixture.newProcess();
  const binding = await fixture.binding();
  holds.adjust(binding);
  const hold = holds.holdOf(name, keyOf(binding));
  hold.listed(version, hold.highest);
  return holds;
}

/** Records as the reconciler of the binding does, which comes again after the time that it is told. */
async function pass(fixture: Fixture, holds: CreationHolds, ms: number): Promise<void> {
  const until = fixture.clock.monotonic() + ms;
  while (fixture.clock.monotonic() < until) {
    const inMs = await fixture.record(holds);
    assert.ok(inMs > 0);
    await fixture.clock.advance(Math.min(inMs, until - fixture.clock.monotonic()));
  }
  await fixture.record(holds);
}

test("the highest version is recorded after a minute, and then every ten minutes when it grew", async () => {
  const fixture = await start();
  const holds = await startAt(fixture, "100");
  assert.equal(await fixture.recorded(), undefined);
  await pass(fixture, holds, minute);
  assert.equal(await fixture.recorded(), "100");
  const { resourceVersion } = (await fixture.binding()).metadata;
  await pass(fixture, holds, 30 * minute);
  assert.equal(
    (await fixture.binding()).metadata.resourceVersion,
    resourceVersion,
    "nothing new is no write",
  );
  holds.holdOf(name, "").saw("200");
  await pass(fixture, holds, 9 * minute);
  assert.equal(await fixture.recorded(), "100");
  await pass(fixture, holds, 2 * minute);
  assert.equal(await fixture.recorded(), "200");
});

test("a process that starts on an older provider notices the restore; another one does so again, because the higher version stays", async () => {
  const fixture = await start();
  await fixture.patch({ metadata: { annotations: { [providerVersionAnnotation]: "900" } } });
  for (const _process of [1, 2]) {
    const holds = await startAt(fixture, "300");
    const hold = holds.holdOf(name, "");
    assert.equal(hold.held?.api, name);
    hold.judged("app/one", true);
    await pass(fixture, holds, 30 * minute);
    assert.equal(await fixture.recorded(), "900");
  }
  assert.deepEqual(fixture.said, ["CreationHeld ProviderRestored", "CreationHeld ProviderRestored"]);
});

test("a hold ends by a time after it began, and not by an earlier one or by a word that is no time", async () => {
  const fixture = await start();
  const holds = await startAt(fixture, "900");
  await fixture.clock.advance(minute);
  const hold = holds.holdOf(name, "");
  hold.listed("300", "900");
  hold.judged("app/one", true);
  const release = async (text: string): Promise<boolean> => {
    await fixture.patch({ metadata: { annotations: { [releaseCreationsAnnotation]: text } } });
    return holds.adjust(await fixture.binding());
  };
  assert.equal(await release("true"), false);
  assert.equal(await release(new Date(fixture.clock.now() - 5_000).toISOString()), false);
  assert.notEqual(hold.held, undefined);
  assert.equal(await release(new Date(fixture.clock.now()).toISOString()), true);
  assert.equal(hold.held, undefined);
  assert.deepEqual(fixture.said, ["CreationHeld ProviderRestored", "no CreationHeld"]);
  await pass(fixture, holds, minute);
  assert.equal(await fixture.recorded(), "300", "the lower version counts from now on");
});

test("the condition keeps a hold over a restart, with its time", async () => {
  const fixture = await start();
  await fixture.clock.advance(minute);
  const lastTransitionTime = new Date(fixture.clock.now() - 30_000).toISOString();
  const held = { type: "CreationHeld", status: "True", reason: "ProviderRestored", lastTransitionTime };
  await fixture.patch({ status: { conditions: [held] } });
  const holds = fixture.newProcess();
  assert.equal(holds.adjust(await fixture.binding()), false);
  assert.equal(holds.holdOf(name, "").held?.since, Date.parse(lastTransitionTime));
});

test("an annotation that is no version, and one of a person in a hurry, hold nothing", async () => {
  const fixture = await start();
  const later = new Date(fixture.clock.now() + minute).toISOString();
  for (const version of ["abc", "-5", "", "9".repeat(400)]) {
    const annotations = { [providerVersionAnnotation]: version, [releaseCreationsAnnotation]: later };
    await fixture.patch({ metadata: { annotations } });
    const holds = await startAt(fixture, "300");
    assert.equal(holds.holdOf(name, "").held, undefined, version.slice(0, 9));
  }
  assert.deepEqual(fixture.said, []);
});

test("an app cluster whose rules do not allow the record costs a warning every ten minutes, and no failure", async () => {
  const fixture = await start();
  fixture.refuses = true;
  const holds = await startAt(fixture, "100");
  await pass(fixture, holds, 12 * minute);
  assert.equal(await fixture.recorded(), undefined);
  assert.equal(fixture.log.filter((line) => line.includes("cannot be recorded")).length, 2);
  fixture.refuses = false;
  await pass(fixture, holds, 10 * minute);
  assert.equal(await fixture.recorded(), "100");
});
