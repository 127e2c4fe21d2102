import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@klutch/kube";
import { silentLogger } from "@klutch/telemetry";
import { Hono } from "hono";
import { createAdmission } from "./admission.ts";
import { createClientAddress } from "./client-address.ts";
import { addRenewalRoutes } from "./renewal-routes.ts";

test("a flood of requests is held off with the time after which to try again, and the next second is free", async () => {
  let nowMs = 7_000;
  const app = new Hono();
  const renewal = {
    url: "https://backend.example.org/renew",
    challenge: () => Promise.resolve("a challenge"),
    renew: () => Promise.reject(new Error("not asked")),
  };
  const clock = { ...systemClock, monotonic: () => nowMs };
  const gate = { admit: createAdmission(clock), addressOf: createClientAddress(0) };
  addRenewalRoutes(app, { renewal, gate, logger: silentLogger });
  const ask = async (): Promise<Response> => app.request("/renew/challenge", { method: "POST" });
  const answers = await Promise.all(Array.from({ length: 60 }, ask));
  assert.deepEqual(
    [200, 429].map((status) => answers.filter((answer) => answer.status === status).length),
    [50, 10],
  );
  assert.equal(answers.at(-1)?.headers.get("retry-after"), "2");
  // What does not count as a challenge is held off by the same measure.
  assert.equal((await app.request("/renew", { method: "POST" })).status, 429);
  nowMs = 8_000;
  assert.equal((await ask()).status, 200);
});
