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
import { secretRef, World } from "../testing/managed-world.ts";
import { managedFinalizer } from "./plan.ts";

/** Virtual time in which everything must be settled, retries and polls included. */
const enoughMs = 1_800_000;

/** A whole life: created, ready, changed, deleted, gone. Checks what must be so after each phase. */
async function live(world: World, settle = () => world.clock.advance(enoughMs)): Promise<void> {
  world.start();
  await world.create();
  await settle();
  await assertReady(world, 1);
  await world.patch({ spec: { size: 2 } });
  await settle();
  await assertReady(world, 2);
  await world.delete();
  await settle();
  await assertGone(world);
  assert.equal(world.backend.created.length, 1);
}

async function assertReady(world: World, size: number): Promise<void> {
  assert.equal(await world.condition("Synced"), "True ReconcileSuccess");
  assert.equal(await world.condition("Ready"), "True Available");
  const managed = await world.managed();
  assert.deepEqual(managed?.metadata.finalizers, [managedFinalizer]);
  assert.equal(managed?.metadata.annotations?.["crossplane.io/external-name"], "box");
  assert.equal(managed?.status?.size, size);
  assert.equal(world.backend.crates.size, 1);
  const [[id, crate] = []] = world.backend.crates;
  assert.deepEqual(crate, { size, state: "available" });
  const secret = await world.secret();
  assert.equal(secret?.data?.["id"], Buffer.from(id ?? "").toString("base64"));
  assert.equal(secret?.metadata.ownerReferences?.[0]?.uid, managed?.metadata.uid);
}

async function assertGone(world: World): Promise<void> {
  assert.equal(await world.managed(), undefined, "the managed resource");
  assert.deepEqual([...world.backend.crates], [], "external resources");
  assert.deepEqual(world.backend.deleted, world.backend.created);
  assert.equal(await world.secret(), undefined, `the Secret ${secretRef.name}`);
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
): Promise<World> {
  const world = new World({ effects: new Effects(plan), takesMs, namespaced });
  await using _ = world;
  await live(world);
  return world;
}

for (const [takesMs, effects] of lives) {
  const backend = `the backend takes ${takesMs} ms`;

  test(`a life without faults takes the fewest writes: ${backend}`, async () => {
    const world = await lifeWith(new Map(), takesMs);
    assert.deepEqual(world.effects.log, effects);
    assert.equal(world.starts, 1);
  });

  for (const [index, what] of effects.entries()) {
    for (const namespaced of [false, true]) {
      const kind = namespaced ? "a namespaced kind" : "a cluster-scoped kind";
      test(`any fault at effect ${index + 1}, ${what}, is made up for: ${backend}, ${kind}`, async () => {
        for (const fault of effectFaults) {
          const world = await lifeWith(new Map([[index + 1, fault]]), takesMs, namespaced);
          assert.equal(world.effects.log[index], what, fault);
          assert.equal(world.starts, fault === "crash" ? 2 : 1, fault);
        }
      });
    }

    test(`a deletion that comes during effect ${index + 1}, ${what}, leaves nothing: ${backend}`, async () => {
      const effectsSeen = new Effects(new Map(), async (count) => {
        if (count === index + 1) await world.delete();
      });
      const world = new World({ effects: effectsSeen, takesMs });
      await using _ = world;
      world.start();
      await world.create();
      await world.clock.advance(enoughMs);
      if ((await world.managed()) !== undefined) {
        await world.patch({ spec: { size: 2 } });
        await world.clock.advance(enoughMs);
        await world.delete();
        await world.clock.advance(enoughMs);
      }
      await assertGone(world);
    });
  }
}

test("somebody who changes the object during each write delays it, and loses nothing", async () => {
  let changes = 0;
  const effects = new Effects(new Map(), async (count) => {
    const managed = await world.managed();
    if (managed === undefined) return;
    changes++;
    await world.patch({ metadata: { labels: { changed: String(count) } } });
  });
  const world = new World({ effects });
  await using _ = world;
  await live(world);
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
    const world = new World({ faults: network, seed, takesMs: seed % 2 === 0 ? 0 : 30_000 });
    await using _ = world;
    await live(world, async () => {
      isStormy = true;
      await world.clock.advance(enoughMs);
      isStormy = false;
      await world.clock.advance(300_000);
    });
  });
}
