import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { countOf, type LimitedNamespace, planLimits } from "./limit-plan.ts";

const databases = { group: "example.org", resource: "databases" };
const count = "count/databases.example.org";
const limitedTo = (max: number): readonly [typeof databases & { max: number }] => [{ ...databases, max }];

/** A namespace as a quota shows it. */
function namespaceWith(name: string, used: number | undefined, hard?: unknown): LimitedNamespace {
  const quota = { hard: { [count]: hard ?? "0" }, used: used === undefined ? {} : { [count]: used } };
  return { name, isGoing: false, quota };
}

test("each namespace may have its present number and the rest of the limit", () => {
  const { writes, totals } = planLimits(limitedTo(3), [namespaceWith("a", 1), namespaceWith("b", 1)]);
  assert.deepEqual(writes, [
    { namespace: "a", hard: { [count]: "2" } },
    { namespace: "b", hard: { [count]: "2" } },
  ]);
  assert.deepEqual(totals, [{ ...databases, max: 3, used: 2 }]);
});

test("a limit below what there is takes nothing away and adds nothing", () => {
  const { writes, totals } = planLimits(limitedTo(1), [namespaceWith("a", 4), namespaceWith("b", 2)]);
  assert.deepEqual(
    writes.map(({ hard }) => hard[count]),
    ["4", "2"],
  );
  assert.deepEqual(totals, [{ ...databases, max: 1, used: 6 }]);
});

test("a quota that the API server wrote in another form is not written again", () => {
  for (const [max, text] of [
    [1000, "1k"],
    [1_000_000, "1M"],
    [1500, "1500"],
    [0, "0"],
  ] as const)
    assert.deepEqual(planLimits(limitedTo(max), [namespaceWith("a", 0, text)]).writes, []);
});

test("a quota that someone widened by another resource, or that lacks one, is written again", () => {
  const two = { ...namespaceWith("a", 0, "3").quota, hard: { [count]: "3", pods: "1" } };
  assert.equal(
    planLimits(limitedTo(3), [{ name: "a", isGoing: false, quota: { used: {}, ...two } }]).writes.length,
    1,
  );
  const none = { hard: {}, used: {} };
  assert.equal(planLimits(limitedTo(3), [{ name: "a", isGoing: false, quota: none }]).writes.length, 1);
});

test("room is taken away in one namespace before it is given in another", () => {
  const { writes } = planLimits(limitedTo(3), [namespaceWith("a", 1, "1"), namespaceWith("b", 1, "3")]);
  assert.deepEqual(
    writes.map(({ namespace }) => namespace),
    ["b", "a"],
  );
});

test("a namespace that is being deleted counts, and is not written", () => {
  const going = { ...namespaceWith("b", 2), isGoing: true };
  const { writes, totals } = planLimits(limitedTo(3), [namespaceWith("a", 0), going]);
  assert.deepEqual(writes, [{ namespace: "a", hard: { [count]: "1" } }]);
  assert.equal(totals[0]?.used, 2);
});

test("a namespace without a quota, and one that is not counted, say that they are not counted", () => {
  const fresh = { name: "c", isGoing: false };
  const { uncounted } = planLimits(limitedTo(3), [
    namespaceWith("a", 1),
    namespaceWith("b", undefined),
    fresh,
  ]);
  assert.deepEqual(uncounted, ["b", "c"]);
});

test("without limits the quotas go, and nothing is counted", () => {
  const namespaces = [namespaceWith("a", 1), { name: "b", isGoing: false }];
  assert.deepEqual(planLimits([], namespaces), { writes: [], removals: ["a"], totals: [], uncounted: [] });
});

test("a kind of the core group has no group in its quota", () => {
  assert.equal(countOf({ resource: "secrets" }), "count/secrets");
});

test("whatever is created and deleted, namespaces whose quotas are carried out never have more than the limit together", () => {
  const step = fc.record({ namespace: fc.nat(3), creates: fc.boolean() });
  fc.assert(
    fc.property(fc.nat(6), fc.array(step, { maxLength: 60 }), (max, steps) => {
      const used = [0, 0, 0, 0];
      let hard: unknown[] = [];
      const plan = (): ReturnType<typeof planLimits> => {
        const namespaces = used.map((number, index) => namespaceWith(String(index), number, hard[index]));
        return planLimits(limitedTo(max), namespaces);
      };
      const carryOut = (): void => {
        for (const { namespace, hard: wanted } of plan().writes) hard[Number(namespace)] = wanted[count];
        assert.deepEqual(plan().writes, []);
      };
      hard = used.map(() => "0");
      carryOut();
      for (const { namespace, creates } of steps) {
        const present = used[namespace] ?? 0;
        // The API server lets the object in if the quota has room.
        if (creates && present + 1 <= Number(hard[namespace])) used[namespace] = present + 1;
        if (!creates && present > 0) used[namespace] = present - 1;
        carryOut();
        const total = used.reduce((sum, number) => sum + number, 0);
        assert.ok(total <= max, `${total} of ${max}`);
        // And no namespace is refused while there is room.
        for (const [index, number] of used.entries())
          assert.equal(Number(hard[index]) - number, max - total, "room");
      }
    }),
  );
});
