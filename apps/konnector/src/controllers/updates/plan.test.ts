import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObservedUpdate, planUpdate } from "./plan.ts";

const repository = "registry.example.org/klutch/konnector";
const observed = (facts: Partial<ObservedUpdate>): ObservedUpdate => ({
  allowed: { line: "minor", floor: "v1.6.0", repository },
  wanted: ["v1.7.2"],
  running: "v1.6.0",
  image: `${repository}:v1.6.0`,
  stuck: undefined,
  ...facts,
});

test("a wanted version becomes the tag in the operator's repository, forwards and back", () => {
  assert.deepEqual(planUpdate(observed({})), { image: `${repository}:v1.7.2` });
  const back = { image: `${repository}:v1.7.2`, running: "v1.7.2", wanted: ["v1.6.0"] };
  assert.deepEqual(planUpdate(observed(back)), { image: `${repository}:v1.6.0` });
  assert.deepEqual(planUpdate(observed({ image: `${repository}:v1.7.2` })), {});
  assert.deepEqual(planUpdate(observed({ wanted: [] })), {});
});

test("each thing that stands against it is a problem in words, and no image", () => {
  const cases: readonly (readonly [Partial<ObservedUpdate>, RegExp])[] = [
    [{ wanted: ["v1.5.9"] }, /v1\.5\.9 is below v1\.6\.0/],
    [{ wanted: ["v2.0.0"] }, /v2\.0\.0 is not of v1\./],
    [{ wanted: ["v1.7.2@sha256:00"] }, /not the version of a release/],
    [{ wanted: ["evil/konnector:v1.7.2"] }, /not the version of a release/],
    [{ wanted: ["v1.7.2", "v1.7.3"] }, /want different versions: v1\.7\.2, v1\.7\.3/],
    [{ image: undefined }, /no container konnector/],
    [{ image: `${repository}:v1.6.0@sha256:${"0".repeat(64)}` }, /pinned by a digest/],
    [{ image: "registry.example.org/klutch/konnector-fork:v1.6.0" }, /not of registry\.example\.org/],
    [{ image: `${repository}:latest` }, /tag latest/],
    [
      { image: `${repository}:v1.7.2`, stuck: "ImagePullBackOff" },
      /v1\.7\.2 does not start: ImagePullBackOff/,
    ],
  ];
  for (const [facts, words] of cases) {
    const plan = planUpdate(observed(facts));
    assert.equal(plan.image, undefined);
    assert.match(plan.problem ?? "", words);
  }
});

test("a wish of 10 MB is refused with a short line", () => {
  const { problem = "" } = planUpdate(observed({ wanted: [`v1.7.2${"0".repeat(10_000_000)}`] }));
  assert.ok(problem.length > 0 && problem.length <= 256);
});
