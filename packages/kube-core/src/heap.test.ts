import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Heap, type HeapEntry } from "./heap.ts";

interface Waiting extends HeapEntry {
  dueAt: number;
  readonly sequence: number;
}

const comesFirst = (left: Waiting, right: Waiting): boolean =>
  left.dueAt === right.dueAt ? left.sequence < right.sequence : left.dueAt < right.dueAt;

const compare = (left: Waiting, right: Waiting): number => (comesFirst(left, right) ? -1 : 1);

test("an empty heap has nothing on top", () => {
  const heap = new Heap<Waiting>(comesFirst);
  assert.equal(heap.first, undefined);
  assert.equal(heap.takeFirst(), undefined);
  assert.equal(heap.size, 0);
});

test("whatever is added, moved and taken, the first of all that it holds is on top", () => {
  const time = fc.integer({ min: 0, max: 5 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("add" as const), dueAt: time }),
    fc.record({ kind: fc.constant("move" as const), which: fc.nat(), dueAt: time }),
    fc.record({ kind: fc.constant("take" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const heap = new Heap<Waiting>(comesFirst);
      const held = new Set<Waiting>();
      for (const [sequence, action] of steps.entries()) {
        if (action.kind === "add") {
          const entry = { index: 0, dueAt: action.dueAt, sequence };
          heap.add(entry);
          held.add(entry);
        } else if (action.kind === "move") {
          const entry = [...held][action.which % Math.max(1, held.size)];
          if (entry !== undefined) {
            entry.dueAt = action.dueAt;
            heap.moved(entry);
          }
        } else {
          const taken = heap.takeFirst();
          assert.equal(taken, [...held].toSorted(compare)[0]);
          if (taken !== undefined) held.delete(taken);
        }
        assert.equal(heap.first, [...held].toSorted(compare)[0]);
        assert.equal(heap.size, held.size);
      }
    }),
  );
});
