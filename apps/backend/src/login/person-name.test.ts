import assert from "node:assert/strict";
import { test } from "node:test";
import type { JWTPayload } from "jose";
import { personNameOf } from "./person-name.ts";

const names: readonly (readonly [string, JWTPayload, string | undefined])[] = [
  ["the e-mail", { email: "jane@example.org", preferred_username: "jane", name: "Jane" }, "jane@example.org"],
  ["an e-mail that is verified", { email: "jane@example.org", email_verified: true }, "jane@example.org"],
  [
    "the user name before an e-mail that is not verified",
    { email: "boss@example.org", email_verified: false, preferred_username: "jane" },
    "jane",
  ],
  [
    "an e-mail that is not verified, marked as such, before nothing",
    { email: "boss@example.org", email_verified: "false" },
    "boss@example.org (not verified)",
  ],
  ["the name, when there is nothing else", { name: "Jane Doe" }, "Jane Doe"],
  ["nothing", {}, undefined],
  ["nothing, when no claim is a text", { email: ["a@b"], preferred_username: { a: 1 }, name: 7 }, undefined],
  ["the next claim, when one is no text", { email: null, preferred_username: "", name: "Jane" }, "Jane"],
  ["one line", { email: "a@b\u001b]0;x\u0007\n   root@c" }, "a@b ]0;x root@c"],
];

for (const [what, claims, name] of names) {
  test(`a person is shown by ${what}`, () => assert.equal(personNameOf(claims), name));
}

test("a name of 10 kB is cut", () => {
  assert.equal(personNameOf({ email: "x".repeat(10_240) })?.length, 128);
});
