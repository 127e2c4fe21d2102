import assert from "node:assert/strict";
import { test } from "node:test";
import { OsbError, OsbTransportError } from "@klutch/osb";
import { afterCreate } from "./answers.ts";
import type { Then as AfterCreate } from "./step.ts";

const answer = (status: number, error = ""): OsbError =>
  new OsbError({ status, error, description: "", own: true, action: "PUT x" });
const unusable = (status: number): OsbTransportError => new OsbTransportError("Garbage", "", status);

/** One event, the action after a first call, and the action after a repetition. */
const rows: readonly (readonly [string, unknown, AfterCreate, AfterCreate])[] = [
  ["200 that cannot be used", unusable(200), "repeat", "repeat"],
  ["201 that cannot be used", unusable(201), "discard", "discard"],
  ["202 that cannot be used", unusable(202), "discard", "discard"],
  ["204", unusable(204), "discard", "discard"],
  ["408", answer(408), "repeat", "repeat"],
  ["400", answer(400), "forget", "repeat"],
  ["401", answer(401), "forget", "repeat"],
  ["409", answer(409), "forget", "discard"],
  ["422 ConcurrencyError", answer(422, "ConcurrencyError"), "forget", "repeat"],
  ["429", answer(429), "forget", "repeat"],
  ["302", answer(302), "forget", "repeat"],
  ["500", answer(500), "discard", "discard"],
  ["503", answer(503), "discard", "discard"],
  ["no answer in time", new OsbTransportError("Timeout", ""), "discard", "discard"],
  ["half an answer", new OsbTransportError("Broken", ""), "discard", "discard"],
  ["an answer without end", new OsbTransportError("TooLarge", ""), "discard", "discard"],
  ["no connection", new OsbTransportError("Unreachable", ""), "forget", "repeat"],
  ["no trusted connection", new OsbTransportError("Tls", ""), "forget", "repeat"],
  ["no access token", new OsbTransportError("Login", ""), "forget", "repeat"],
  ["a request that this broker cannot get", new OsbTransportError("NotSent", ""), "forget", "repeat"],
  ["the end of the process", new Error("stopping"), "repeat", "repeat"],
];
for (const [what, error, first, repeated] of rows) {
  test(`after ${what} a create is to ${first}, and when it was a repetition to ${repeated}`, () => {
    assert.equal(afterCreate(error, false), first);
    assert.equal(afterCreate(error, true), repeated);
  });
}
