import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "@klutch/telemetry";
import { expiryOf } from "./token-expiry.ts";

const tokenOf = (claims: unknown): string =>
  ["{}", claims, ""].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
const expiryOfToken = (token: string): number | undefined =>
  expiryOf({ auth: { kind: "token", token: new Secret(token) } });

test("a service account's token says when it ends; other credentials say nothing", () => {
  assert.equal(expiryOfToken(tokenOf({ exp: 1_800_000_000 })), 1_800_000_000);
  assert.equal(expiryOfToken(tokenOf({ sub: "x" })), undefined);
  assert.equal(expiryOfToken(tokenOf({ exp: "soon" })), undefined);
  assert.equal(expiryOfToken("opaque"), undefined);
  assert.equal(expiryOf({ auth: { kind: "none" } }), undefined);
});
