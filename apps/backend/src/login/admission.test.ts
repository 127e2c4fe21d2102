import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@klutch/kube";
import { Hono } from "hono";
import { createAdmission } from "./admission.ts";
import { createClientAddress } from "./client-address.ts";

/** An admission whose second is `at.ms`. */
function admission(): { readonly admit: ReturnType<typeof createAdmission>; readonly at: { ms: number } } {
  const at = { ms: 1_000 };
  return { admit: createAdmission({ ...systemClock, monotonic: () => at.ms }), at };
}

test("a flood from one address leaves room for all the others, in each second again", () => {
  const { admit, at } = admission();
  for (let second = 1; second <= 3; second++) {
    at.ms = second * 1000;
    const flood = Array.from({ length: 500 }, () => admit("192.0.2.1")).filter(Boolean).length;
    assert.equal(flood, 35);
    const honest = Array.from({ length: 5 }, (_, index) =>
      [1, 2, 3].map(() => admit(`192.0.2.${10 + index}`)),
    );
    assert.deepEqual(new Set(honest.flat()), new Set([true]));
    assert.equal(admit("192.0.2.99"), false, "the limit of the process holds for all together");
  }
});

test("all addresses of one IPv6 network are one caller, and a mapped IPv4 address is that address", () => {
  const { admit } = admission();
  const flood = Array.from({ length: 500 }, (_, index) => admit(`2001:db8:0:1::${index.toString(16)}`));
  assert.equal(flood.filter(Boolean).length, 35);
  assert.equal(admit("2001:db8::1:0:0:0:1"), false, "the same network, written in another way");
  assert.equal(admit("2001:db8:0:2::1"), true);
  const other = admission().admit;
  for (let index = 0; index < 500; index++) other("192.0.2.1");
  assert.equal(other("::ffff:192.0.2.1"), false);
});

test("callers behind a proxy are told apart only by what trusted proxies wrote", async () => {
  const seen = async (trusted: number, forwarded: string | undefined): Promise<string> => {
    const app = new Hono();
    const addressOf = createClientAddress(trusted);
    app.get("/", (context) => context.text(addressOf(context) ?? "unknown"));
    const socket = { remoteAddress: "10.0.0.7", remotePort: 1, remoteFamily: "IPv4" };
    const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
    return (await app.request("/", { headers }, { incoming: { socket } })).text();
  };
  assert.equal(await seen(0, "1.1.1.1"), "10.0.0.7");
  assert.equal(await seen(1, undefined), "10.0.0.7");
  assert.equal(await seen(1, "9.9.9.9, 192.0.2.1"), "192.0.2.1");
  assert.equal(await seen(2, "9.9.9.9, 192.0.2.1, 10.0.0.1"), "192.0.2.1");
  // Fewer entries than proxies: the request came around one of them.
  assert.equal(await seen(3, "9.9.9.9"), "10.0.0.7");
});
