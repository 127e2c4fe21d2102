/** Lives of bindings with rotations, and faults at their effects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EffectFault } from "@klutch/kube-testing";
import fc from "fast-check";
import { BindingFixture } from "./binding-fixture.ts";
import { faultPlans, type FaultsAt } from "./fault-plans.ts";
import { bothScopes, type TestKinds } from "./kinds.ts";

/** Virtual time in which everything must be settled, retries and polls included. */
const enoughMs = 350_000;
const graceMs = 300_000;

/** The broker's way of working. */
interface BrokerKind {
  readonly isSlow: boolean;
  readonly isRetrievable: boolean;
}

/** A binding, two rotations, the end of the old logins, one more rotation, and the end of all in its middle. */
async function live(fixture: BindingFixture, kind: BrokerKind): Promise<void> {
  const { broker, clock } = fixture;
  Object.assign(broker, kind);
  await fixture.add({ rotateGraceSeconds: graceMs / 1_000 });
  fixture.start();
  await clock.advance(enoughMs);
  const first = await fixture.password();
  assert.notEqual(first, undefined);
  fixture.isWatched = true;
  for (const rotate of ["1", "2"]) {
    await fixture.edit({ rotate });
    await clock.advance(enoughMs);
    assert.equal((await fixture.rotation())["request"], rotate);
  }
  await clock.advance(graceMs);
  assert.deepEqual([...broker.logins.values()], [await fixture.password()], "one login is left");
  assert.notEqual(await fixture.password(), first);
  assert.deepEqual(fixture.broken, [], "logins in the Secret that did not work");
  await fixture.edit({ rotate: "3" });
  await clock.advance(100);
  await fixture.delete();
  await clock.advance(enoughMs);
  assert.equal(await fixture.binding(), undefined, "the binding");
  assert.equal(await fixture.password(), undefined, "the Secret");
  assert.deepEqual([...broker.logins.keys()], [], "logins that no one knows");
  const ids = new Set(broker.binds.map(({ bindingId }) => bindingId));
  assert.ok(ids.size <= 4, `${ids.size} ids for four versions`);
}

async function liveWith(
  plan: ReadonlyMap<number, EffectFault>,
  kind: BrokerKind,
  scope: TestKinds,
): Promise<BindingFixture> {
  const fixture = new BindingFixture(plan, scope);
  await using _ = fixture;
  await live(fixture, kind);
  return fixture;
}

const kinds = [
  ["at once", { isSlow: false, isRetrievable: true }],
  ["at once and cannot be asked for it", { isSlow: false, isRetrievable: false }],
  ["in a while", { isSlow: true, isRetrievable: true }],
] as const satisfies readonly (readonly [string, BrokerKind])[];

// The scopes share all code but names and namespaces, so the second one lives with one broker.
const cases = bothScopes.flatMap((scope, index) =>
  kinds.slice(0, index === 0 ? undefined : 1).map((kind) => [scope, ...kind] as const),
);

/** Registers the tests of each broker and scope; `runs` is the number of random plans of each. */
export async function testRotations(faultsAt: FaultsAt, runs: number): Promise<void> {
  // Before any test: two fixtures at once wait for each other at each step of their clocks.
  const undisturbed: (readonly [(typeof cases)[number], BindingFixture])[] = [];
  for (const one of cases) {
    const [scope, , kind] = one;
    undisturbed.push([one, await liveWith(new Map(), kind, scope)]);
  }

  for (const [at, [[scope, how, kind], { effects }]] of undisturbed.entries()) {
    void test(`${scope.title}: a broker that binds ${how}: each bind is recorded before it`, () => {
      for (const [index, what] of effects.log.entries())
        if (what === "bind") assert.equal(effects.log[index - 1], "patch ServiceBinding metadata");
    });

    void test(`${scope.title}: a broker that binds ${how}: any fault at any effect leaves nothing and breaks no login`, async () => {
      for (const [index, what] of effects.log.entries()) {
        for (const fault of faultsAt(index, at === 0)) {
          const where = `${fault} at effect ${index + 1}, ${what}`;
          try {
            const fixture = await liveWith(new Map([[index + 1, fault]]), kind, scope);
            assert.equal(fixture.starts, fault === "crash" ? 2 : 1, where);
          } catch (cause) {
            throw new Error(where, { cause });
          }
        }
      }
    });

    void test(`${scope.title}: a broker that binds ${how}: many faults in any order leave nothing and break no login`, async () => {
      await fc.assert(
        fc.asyncProperty(faultPlans(50), async (plan) => {
          await liveWith(plan, kind, scope);
        }),
        { numRuns: runs },
      );
    });
  }
}
