import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Secret } from "@klutch/telemetry";
import { createSealer } from "./sealed-cookie.ts";

const keys = { signing: new Secret(Buffer.alloc(32, 1)), encryption: undefined };

test("a sealed value opens with the same keys and kind only", async () => {
  const sealed = await createSealer("login", keys).seal({ a: "1" }, 60);
  assert.equal(((await createSealer("login", keys).open(sealed)) as Record<string, string>)["a"], "1");
  assert.equal(await createSealer("session", keys).open(sealed), undefined);
  const others = { signing: new Secret(Buffer.alloc(32, 2)), encryption: undefined };
  assert.equal(await createSealer("login", others).open(sealed), undefined);
});

test("a changed value does not open", async () => {
  const sealer = createSealer("login", keys);
  const parts = (await sealer.seal({ a: "1" }, 60)).split(".");
  parts[3] = `${parts[3]?.startsWith("A") === true ? "B" : "A"}${parts[3]?.slice(1) ?? ""}`;
  assert.equal(await sealer.open(parts.join(".")), undefined);
  assert.equal(await sealer.open("not a token"), undefined);
});

test("an expired login or session is told apart from a foreign one", async () => {
  const sealer = createSealer("session", keys);
  mock.timers.enable({ apis: ["Date"], now: Date.now() });
  try {
    const sealed = await sealer.seal({ a: "1" }, 60);
    mock.timers.tick(61_000);
    assert.equal(await sealer.open(sealed), "expired");
  } finally {
    mock.timers.reset();
  }
});
