import { test } from "node:test";
import { startModelledBackend } from "./testing/modelled-backend.ts";

test("measure", async () => {
  for (const count of [1, 10, 40]) {
    await using world = await startModelledBackend({ apis: 10, atOnce: 4, requestMs: 10 });
    const logins = await world.logIn(Array.from({ length: count }, (_, index) => `t${index}`));
    const early = world.takeRequests();
    await world.clock.advance(15_000);
    const late = world.takeRequests();
    const all = new Map(early);
    for (const [key, value] of late) all.set(key, (all.get(key) ?? 0) + value);
    const sum = (m: ReadonlyMap<string, number>) => m.values().reduce((a, b) => a + b, 0);
    console.log(count, "first max", Math.max(...logins.map((l) => l.firstMs)), "all max", Math.max(...logins.map((l) => l.allMs)), "requests each", sum(early) / count, "+", sum(late) / count);
    console.log([...all].toSorted((a, b) => b[1] - a[1]).map(([k, v]) => `${(v / count).toFixed(1)} ${k}`).join(", "));
  }
});
