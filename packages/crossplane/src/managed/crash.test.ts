import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type EffectFault,
  effectFaults,
  Effects,
  type FaultSource,
  seededFaults,
} from "@klutch/kube-testing";
import { secretRef, Fixture } from "../testing/managed-fixture.ts";
import { managedFinalizer } from "./plan.ts";

/** Virtual time in which everything must be settled, retries and polls included. */
const enoughMs = 1_800_000;

/** A whole life: created, ready, changed, deleted, gone. Checks what must be so after each phase. */
async function live(fixture: Fixture, settle = () => fixture.clock.advance(enoughMs)): Promise<void> {
  fixture.start();
  await fixture.create();
  await settle();
  await assertReady(fixture, 1);
  await fixture.patch({ spec: { size: 2 } });
  await settle();
  await assertReady(fixture, 2);
  await fixture.delete();
  await settle();
  await assertGone(fixture);
  assert.equal(fixture.backend.created.length, 1);
}

async function assertReady(fixture: Fixture, size: number): Promise<void> {
  assert.equal(await fixture.condition("Synced"), "True ReconcileSuccess");
  assert.equal(await fixture.condition("Ready"), "True Available");
  const managed = await fixture.managed();
  assert.deepEqual(managed?.metadata.finalizers, [managedFinalizer]);
  assert.equal(managed?.metadata.annotations?.["crossplane.io/external-name"], "box");
  assert.equal(managed?.status?.size, size);
  assert.equal(fixture.backend.crates.size, 1);
  const [[id, crate] = []] = fixture.backend.crates;
  assert.deepEqual(crate, { size, state: "available" });
  const secret = await fixture.secret();
  assert.equal(secret?.data?.["id"], Buffer.from(id ?? "").toString("base64"));
  assert.equal(secret?.metadata.ownerReferences?.[0]?.uid, managed?.metadata.uid);
}

async function assertGone(fixture: Fixture): Promise<void> {
  assert.equal(await fixture.managed(), undefined, "the managed resource");
  assert.deepEqual([...fixture.backend.crates], [], "external resources");
  assert.deepEqual(fixture.backend.deleted, fixture.backend.created);
  assert.equal(await fixture.secret(), undefined, `the Secret ${secretRef.name}`);
}

const beginning = ["patch Crate metadata", "patch Crate metadata", "create crate"];
const change = ["resize crate", "patch Crate status", "delete crate"];
const end = ["delete Secret", "patch Crate metadata"];
const lives: ReadonlyMap<number, readonly string[]> = new Map([
  [0, [...beginning, "create Secret", "patch Crate status", ...change, ...end]],
  [
    30_000,
    [
      ...beginning,
      "patch Crate status",
      "create Secret",
      "patch Crate status",
      ...change,
      "patch Crate status",
      ...end,
    ],
  ],
]);

async function lifeWith(
  plan: ReadonlyMap<number, EffectFault>,
  takesMs: number,
  namespaced = false,
): Promise<Fixture> {
  const fixture = new Fixture({ effects: new Effects(plan), takesMs, namespaced });
  await using _ = fixture;
  await live(fixture);
  return fixture;
}

for (const [takesMs, effects] of lives) {
  const backend = `the backend takes ${takesMs} ms`;

  test(`a life without faults takes the fewest writes: ${backend}`, async () => {
    const fixture = await lifeWith(new Map(), takesMs);
    assert.deepEqual(fixture.effects.log, effects);
    assert.equal(fixture.starts, 1);
  });

  for (const [index, what] of effects.entries()) {
    for (const namespaced of [false, true]) {
      const kind = namespaced ? "a namespaced kind" : "a cluster-scoped kind";
      test(`any fault at effect ${index + 1}, ${what}, is made up for: ${backend}, ${kind}`, async () => {
        for (const fault of effectFaults) {
          const fixture = await lifeWith(new Map([[index + 1, fault]]), takesMs, namespaced);
          assert.equal(fixture.effects.log[index], what, fault);
          assert.equal(fixture.starts, fault === "crash" ? 2 : 1, fault);
        }
      });
    }

    test(`a deletion that comes during effect ${index + 1}, ${what}, leaves nothing: ${backend}`, async () => {
      const effectsSeen = new Effects(new Map(), async (count) => {
        if (count === index + 1) await fixture.delete();
      });
      const fixture = new Fixture({ effects: effectsSeen, takesMs });
      await using _ = fixture;
      fixture.start();
      await fixture.create();
      await fixture.clock.advance(enoughMs);
      if ((await fixture.managed()) !== undefined) {
        await fixture.patch({ spec: { size: 2 } });
        await fixture.clock.advance(enoughMs);
        await fixture.delete();
        await fixture.clock.advance(enoughMs);
      }
      await assertGone(fixture);
    });
  }
}

test("somebody who changes the object during each write delays it, and loses nothing", async () => {
  let changes = 0;
  const effects = new Effects(new Map(), async (count) => {
    const managed = await fixture.managed();
    if (managed === undefined) return;
    changes++;
    await fixture.patch({ metadata: { labels: { changed: String(count) } } });
  });
  const fixture = new Fixture({ effects });
  await using _ = fixture;
  await live(fixture);
  assert.ok(changes > 8);
});

test("many faults in any order end in the right state, and nothing is created twice", async () => {
  const plan = fc.dictionary(fc.integer({ min: 1, max: 40 }).map(String), fc.constantFrom(...effectFaults), {
    maxKeys: 25,
  });
  await fc.assert(
    fc.asyncProperty(plan, fc.constantFrom(0, 30_000), async (steps, takesMs) => {
      const entries = Object.entries(steps).map(([step, fault]) => [Number(step), fault] as const);
      await lifeWith(new Map(entries), takesMs);
    }),
    { numRuns: 100 },
  );
});

for (let seed = 1; seed <= 20; seed++) {
  test(`late and broken watches, errors and lost answers end in the right state (seed ${seed})`, async () => {
    const rates = { error: 0.1, lostAnswer: 0.1, lostRequest: 0.1, watchDelay: 0.5, watchDrop: 0.1 };
    const storm = seededFaults(seed, { ...rates, maxWatchDelayMs: 30_000 });
    let isStormy = true;
    const network: FaultSource = {
      onRequest: (info) => (isStormy ? storm.onRequest(info) : undefined),
      onWatchEvent: (info) => (isStormy ? storm.onWatchEvent(info) : "deliver"),
      latencyMs: () => storm.latencyMs(),
    };
    const fixture = new Fixture({ faults: network, seed, takesMs: seed % 2 === 0 ? 0 : 30_000 });
    await using _ = fixture;
    await live(fixture, async () => {
      isStormy = true;
      await fixture.clock.advance(enoughMs);
      isStormy = false;
      await fixture.clock.advance(300_000);
    });
  });
}
