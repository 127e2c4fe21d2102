import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "./errors.ts";
import { quotaRefusalOf } from "./quota-refusal.ts";

function refusal(status: number, message: string): ApiError {
  return new ApiError({ status, reason: "Forbidden", message } as never);
}

test("the two refusals of a quota are told apart, in the server's own words", () => {
  const exceeded =
    'widgets.example.org "a" is forbidden: exceeded quota: klutch-limits, requested: count/widgets.example.org=1, used: count/widgets.example.org=3, limited: count/widgets.example.org=3';
  const unknown =
    'widgets.example.org "a" is forbidden: status unknown for quota: klutch-limits, resources: count/widgets.example.org';
  assert.equal(quotaRefusalOf(refusal(403, exceeded)), "Exceeded");
  assert.equal(quotaRefusalOf(refusal(403, unknown)), "NotCounted");
  assert.equal(quotaRefusalOf(refusal(403, `${unknown}; ${exceeded}`)), "Exceeded");
});

test("a refusal counts only if it is a quota's", () => {
  assert.equal(quotaRefusalOf(refusal(403, "no rights")), undefined);
  assert.equal(quotaRefusalOf(refusal(403, "quota")), undefined);
  assert.equal(quotaRefusalOf(refusal(422, "exceeded quota: klutch")), undefined);
  assert.equal(quotaRefusalOf(refusal(500, "status unknown for quota: klutch")), undefined);
  assert.equal(quotaRefusalOf(new Error("exceeded quota: klutch")), undefined);
  assert.equal(quotaRefusalOf(undefined), undefined);
});
