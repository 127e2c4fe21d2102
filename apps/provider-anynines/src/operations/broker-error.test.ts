import assert from "node:assert/strict";
import { test } from "node:test";
import { ExternalError } from "@klutch/crossplane";
import { OsbError, OsbTransportError } from "@klutch/osb";
import { brokerText, toExternalError } from "./answers.ts";

function answered(status: number, error = "", description = "", own = true): OsbError {
  return new OsbError({ status, error, description, own, action: "PUT /v2/service_instances/i" });
}

test("each error of a broker has its reason, and an answer to a question is never a refusal of the spec", () => {
  for (const [error, ofChange, ofQuestion] of [
    [answered(400, "InvalidParameters", "no"), "Refused", undefined],
    [answered(422, "AsyncRequired", "later"), "Refused", undefined],
    [answered(409), "Refused", undefined],
    [answered(422, "ConcurrencyError", "busy"), "BrokerBusy", "BrokerBusy"],
    [answered(429), "BrokerBusy", "BrokerBusy"],
    [answered(503, "", "", false), "BrokerUnreachable", "BrokerUnreachable"],
    [answered(401), undefined, undefined],
    [answered(500, "InternalServerError", "out of order"), undefined, undefined],
    [new OsbTransportError("Unreachable", "away"), "BrokerUnreachable", "BrokerUnreachable"],
    [new OsbTransportError("Timeout", "slow"), "BrokerUnreachable", "BrokerUnreachable"],
    [new OsbTransportError("Garbage", "not JSON"), undefined, undefined],
  ] as const) {
    for (const [asked, reason] of [
      ["change", ofChange],
      ["question", ofQuestion],
    ] as const) {
      const external = toExternalError(error, asked);
      assert.ok(external instanceof ExternalError);
      assert.equal(external.reason, reason, `${error.message}, ${asked}`);
      assert.equal(external.cause, error);
    }
  }
  const other = new Error("of our own");
  assert.equal(toExternalError(other, "change"), other);
});

test("a broker that says too much, in colours, or what it was told to log in with, is quoted shortly and without it", () => {
  const flood = brokerText(`\u001b[31mred\u202e\r\n${"x".repeat(8_000_000)}`);
  assert.ok(flood.startsWith(" [31mred xxx".trim()), flood.slice(0, 20));
  assert.equal(flood.length, 700);
  for (const [said, kept] of [
    ["GET https://u:hunter2@broker.example/v2 failed", "GET https://…@broker.example/v2 failed"],
    [
      "headers were Authorization: Basic dTpodW50ZXIy and more",
      "headers were Authorization: Basic … and more",
    ],
    ["authorization: bearer eyJhbGciOi.abc-def_1", "authorization: bearer …"],
    ['{"authorization": "Basic dTpodW50ZXIy"}', '{"authorization": "Basic …"}'],
    [
      "a basic subscription costs https://prices.example/basic",
      "a basic subscription costs https://prices.example/basic",
    ],
  ] as const)
    assert.equal(brokerText(said), kept);
  const error = toExternalError(answered(400, "Bad\n\u0007", "y".repeat(1_000_000)), "change");
  assert.ok(error instanceof ExternalError && error.message.length === 700 && !/\p{Cc}/u.test(error.message));
});
