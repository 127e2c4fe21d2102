import assert from "node:assert/strict";
import { test } from "node:test";
import {
  longestWish,
  type LoginWish,
  mostApisOfLogin,
  readWish,
  wishProblem,
  wishText,
} from "./login-wish.ts";
import { WireError } from "./wire-fields.ts";

const names = ["postgresqlinstances.anynines.com", "backups"];

test("every wish is read as it was written", () => {
  const wishes: readonly LoginWish[] = [
    { kind: "none" },
    { kind: "all" },
    { kind: "service", service: "postgresql" },
    { kind: "service", service: "my_Service.m.anynines.com" },
    { kind: "apis", names },
    { kind: "apis", names: ["a"] },
  ];
  for (const wish of wishes) {
    assert.equal(wishProblem(wish), undefined);
    assert.deepEqual(readWish(wishText(wish)), wish);
  }
  assert.equal(wishText({ kind: "apis", names }), "apis=postgresqlinstances.anynines.com,backups");
});

for (const [value, words] of [
  ["", /^m: is ""; it must be 1, all, service=<service> or apis=<name>,<name>$/],
  ["2", /^m: is "2"/],
  ["true", /^m: is "true"/],
  ["\u001b[2J", /^m: is " ?\[2J"/],
  ["service=", /names the service ""; write one such as postgresql/],
  ["service=a b", /names the service "a b"/],
  [`service=${"x".repeat(254)}`, /names the service "x+…"/],
  ["apis=", /names the API ""; write <resource>\.<group>, such as postgresqlinstances\.anynines\.com/],
  ["apis=a.b,", /names the API ""/],
  ["apis=Widgets.example.org", /names the API "Widgets\.example\.org"/],
  ["apis=a.b,<script>", /names the API "<script>"/],
  ["apis=a.b,c.d,a.b", /names a\.b twice; name each API once/],
  [
    `apis=${Array.from({ length: 10_000 }, (_, at) => `a${at}.b`).join(",")}`,
    /names 10000 APIs; one login binds at most 50/,
  ],
  [
    `apis=${Array.from({ length: 30 }, (_, at) => `${"a".repeat(40)}${at}.b`).join(",")}`,
    /has \d+ characters, and a login has room for 600/,
  ],
] as const) {
  test(`the wish ${JSON.stringify(value.slice(0, 40))} is refused with what would be right`, () => {
    assert.throws(
      () => readWish(value),
      (error) => error instanceof WireError && words.test(error.message) && error.message.length < 300,
    );
  });
}

test("the bounds themselves are allowed", () => {
  const most = Array.from({ length: mostApisOfLogin }, (_, at) => `a${at}.b`);
  assert.deepEqual(readWish(`apis=${most.join(",")}`), { kind: "apis", names: most });
  const longest = [1, 2, 3, 4, 5].map((at) => `${"a".repeat(at === 5 ? 118 : 117)}${at}`);
  const text = `apis=${longest.join(",")}`;
  assert.equal(text.length, longestWish);
  assert.equal(wishText(readWish(text)), text);
  assert.throws(() => readWish(`${text}a`), /has 601 characters/);
});
