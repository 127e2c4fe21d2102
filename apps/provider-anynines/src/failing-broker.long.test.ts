import assert from "node:assert/strict";
import { after, test } from "node:test";
import { serviceInstances } from "@klutch/api";
import { waitFor } from "@klutch/kube-testing";
import { brokerError } from "./testing/front.ts";
import { instance, startFixture } from "./testing/fixture.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startFixture("failing-broker"));
const { client, front } = fixture;

test("a broker that only answers errors is asked ever more rarely, and the provider's own notes cause no new attempt", async () => {
  front.lie = ({ method }) =>
    method === "PUT" ? brokerError(500, "InternalServerError", "out of order") : undefined;
  const attempts = (): readonly number[] =>
    front.asked.filter(({ method }) => method === "PUT").map(({ at }) => at);
  const watching = new AbortController();
  let events = 0;
  const { resourceVersion } = await client.list(serviceInstances);
  const watched = (async () => {
    for await (const event of client.watch(serviceInstances, { resourceVersion, signal: watching.signal })) {
      if (event.type === "MODIFIED") events++;
    }
  })().catch(() => undefined);
  const stop = fixture.run();
  try {
    await client.create(serviceInstances, instance("failing"));
    await waitFor("four attempts", () => attempts().length >= 4, { timeoutMs: 30_000 });
    const [first = 0, second = 0, third = 0, fourth = 0] = attempts();
    const waits = [second - first, third - second, fourth - third].map(Math.round);
    assert.ok(
      waits[0] !== undefined && waits[0] >= 450 && (waits[1] ?? 0) >= 950 && (waits[2] ?? 0) >= 1_950,
      `waits between attempts were ${waits.join(", ")} ms`,
    );
    // Of an attempt: intent, its end, what it may have left, the end of that under a new id, and the condition.
    assert.ok(events <= 2 + 4 * 5, `${events} changes were written for 4 attempts`);
    await fixture.condition(serviceInstances, "failing", {
      type: "Synced",
      status: "False",
      message: /create failed: InternalServerError: out of order/,
    });
    front.lie = undefined;
    await fixture.condition(serviceInstances, "failing", { type: "Ready", status: "True" }, 30_000);
    assert.equal((await fixture.databases()).length, 1);
    await client.delete(serviceInstances, { name: "failing" });
    await fixture.gone(serviceInstances, { name: "failing" });
  } finally {
    front.lie = undefined;
    watching.abort();
    await Promise.all([stop(), watched]);
  }
});
