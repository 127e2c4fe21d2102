import assert from "node:assert/strict";
import { test } from "node:test";
import type { DynamicObject } from "@klutch/kube-core";
import fc from "fast-check";
import { Store } from "./store.ts";
import { WeightBudget, weightOf } from "./weight.ts";

const thing = (name: string, resourceVersion: string, length: number): DynamicObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name, resourceVersion, uid: name },
  text: "x".repeat(length),
});
const storeOf = (budget: WeightBudget, onTooHeavy: () => void = () => undefined): Store<DynamicObject> =>
  new Store({ budget, onTooHeavy, onChange: () => undefined });
const names = (store: Store<DynamicObject>): readonly string[] => [...store.keys()].toSorted();

test("what does not fit is left out and told, the others stay, and what goes makes room", () => {
  let told = 0;
  const store = storeOf(new WeightBudget(10_000), () => told++);
  assert.ok(store.apply(thing("a", "1", 4_000)));
  assert.ok(store.apply(thing("b", "2", 4_000)));
  assert.equal(store.apply(thing("c", "3", 4_000)), false);
  assert.deepEqual([names(store), told], [["a", "b"], 1]);
  store.delete("a");
  assert.ok(store.apply(thing("c", "3", 4_000)));
  assert.deepEqual(names(store), ["b", "c"]);
});

test("an object that becomes too heavy goes, instead of being shown as it was", () => {
  const store = storeOf(new WeightBudget(10_000));
  store.apply(thing("a", "1", 100));
  assert.equal(store.apply(thing("a", "2", 20_000)), false);
  assert.deepEqual(names(store), []);
  assert.ok(store.apply(thing("a", "3", 9_000)));
});

test("an object that is nested too deep for those who walk through it is not kept", () => {
  const deep = (levels: number): unknown =>
    Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 7);
  const store = storeOf(new WeightBudget(1_000_000_000));
  assert.equal(store.apply({ ...thing("a", "1", 1), deep: deep(100_000) }), false);
  assert.ok(store.apply({ ...thing("a", "1", 1), deep: deep(150) }));
});

test("stores that share a budget leave nothing of it taken, whatever came and went", () => {
  const deed = fc.record({
    store: fc.nat(2),
    name: fc.constantFrom("a", "b", "c", "d"),
    length: fc.nat(3_000),
    isDelete: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(deed, { maxLength: 60 }), (deeds) => {
      const budget = new WeightBudget(6_000);
      const stores = [0, 1, 2].map(() => storeOf(budget));
      deeds.forEach(({ store, name, length, isDelete }, index) => {
        if (isDelete) stores[store]?.delete(name);
        else stores[store]?.apply(thing(name, String(index), length));
        const kept = stores.flatMap((one) => [...one.values()]);
        assert.ok(kept.reduce((sum, object) => sum + weightOf(object), 0) <= budget.limit);
      });
      for (const store of stores) store.dispose();
      assert.ok(budget.take(budget.limit));
    }),
  );
});
