import assert from "node:assert/strict";
import { test } from "node:test";
import { decideLoss, isMassLoss, stepLoss } from "./loss.ts";
import { parameterChanges } from "../service-instance/requests.ts";

test("a resource is lost when the broker says so twice, with the time between that was asked for", () => {
  const first = stepLoss(undefined, 1_000, 30_000);
  assert.deepEqual(first, { missing: { since: 1_000, confirmed: false }, observeAgainMs: 30_000 });
  const early = stepLoss(first.missing, 11_000, 30_000);
  assert.deepEqual(early, { missing: first.missing, observeAgainMs: 20_000 });
  const late = stepLoss(first.missing, 31_000, 30_000);
  assert.deepEqual(late, { missing: { since: 1_000, confirmed: true }, observeAgainMs: undefined });
  assert.deepEqual(stepLoss(late.missing, 31_001, 30_000), late);
});

test("only the lost instance's own id is a permission, and none is enough while many are gone", () => {
  const few = { config: "c", target: "providerconfigs.x c", missing: 1, all: 9, accepted: false };
  const lost = { target: "serviceinstances.x n", instanceId: "id", permission: "id", losses: few };
  assert.equal(decideLoss(lost).do, "provisionAnew");
  for (const permission of [undefined, "", "true", "other"]) {
    assert.equal(decideLoss({ ...lost, permission }).do, "hold");
  }
  const many = { ...few, missing: 5 };
  assert.equal(decideLoss({ ...lost, losses: many }).do, "hold");
  assert.equal(decideLoss({ ...lost, losses: { ...many, accepted: true } }).do, "provisionAnew");
  assert.equal(decideLoss({ ...lost, permission: "", losses: { ...many, accepted: true } }).do, "hold");
});

test("the words of a loss say what a developer can do, and that the command is for the platform team", () => {
  const losses = { config: "c", target: "providerconfigs.x c", missing: 1, all: 9, accepted: false };
  const said = (missing: number): string => {
    const decision = decideLoss({
      target: "serviceinstances.x n",
      instanceId: "id",
      permission: undefined,
      losses: { ...losses, missing },
    });
    return decision.do === "hold" ? decision.message : "";
  };
  assert.match(said(1), /Tell the platform team, or delete the claim with its bindings and create another/);
  assert.match(
    said(1),
    /the platform team runs in the control plane: kubectl annotate serviceinstances\.\S+ n \S+=id$/,
  );
  assert.match(said(9), /9 of 9 instances .*: tell the platform team\./);
  assert.match(said(9), /it runs in the control plane: kubectl annotate providerconfigs\.\S+ c \S+=true$/);
});

test("many are at least three and more than half", () => {
  const losses = (missing: number, all: number): boolean =>
    isMassLoss({ config: "c", target: "", missing, all, accepted: false });
  assert.deepEqual(
    [losses(2, 2), losses(3, 3), losses(3, 6), losses(4, 6), losses(3, 100)],
    [false, true, false, true, false],
  );
});

test("what was sent and is not wanted any more is taken back with null; the broker's own defaults are not", () => {
  const present = { a: 1, b: [2], fallback: "x" };
  assert.deepEqual(parameterChanges({ wanted: { a: 1 }, present, sent: ["a", "b"] }), { b: null });
  assert.deepEqual(parameterChanges({ wanted: undefined, present, sent: ["a"] }), { a: null });
  assert.deepEqual(parameterChanges({ wanted: { a: 3, c: 4 }, present, sent: ["a"] }), { a: 3, c: 4 });
  assert.equal(parameterChanges({ wanted: { a: 1, b: [2] }, present, sent: ["a", "b"] }), undefined);
});
