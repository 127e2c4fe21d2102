import assert from "node:assert/strict";
import { test } from "node:test";

import { recordsAt } from "@klutch/kube-core";
import { seededRandom } from "@klutch/kube-testing";
import { isPlain } from "@klutch/sync";
import { digests, measurePaired, parsed, restart, statusTrip } from "./computing.ts";
import { sentPair, treatments } from "./pairs.ts";

test("both works are called equally often, each first as often as second", () => {
  const order: string[] = [];
  const paired = measurePaired(
    () => order.push("one"),
    () => order.push("other"),
    20,
    1,
  );
  const rounds = order.flatMap((name, at) => (at % 2 === 0 ? [name] : []));
  assert.deepEqual([order.length, rounds.length], [44, 22]);
  assert.equal(rounds.filter((name) => name === "one").length, 11);
  assert.ok(Number.isFinite(paired.ratio));
});

for (const [name, { view }] of Object.entries(treatments)) {
  const pair = sentPair(view, "one", { random: seededRandom(1), bytes: 200 });
  const claim = parsed(pair.claim);

  test(`a ${name} pair is in sync as servers send it, and again after its next status`, () => {
    assert.equal(restart(view, pair), "inSync");
    const [digest] = digests(view, claim, parsed(pair.upstream));
    assert.equal(statusTrip(view, digest, pair), "inSync");
  });

  test(`a ${name} claim shows its kind's share of five conditions`, () => {
    const types = recordsAt(claim.status, "conditions").map(({ type }) => type);
    const numbers = new Set(
      recordsAt(claim.status, "conditions").map(({ observedGeneration }) => observedGeneration),
    );
    assert.equal(isPlain(view), name === "copied");
    assert.deepEqual([types.length, ...numbers], name === "copied" ? [5, 5] : [2, 2]);
  });
}
