import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceInstances } from "@klutch/api";
import type { CountedBroker } from "../testing/counted-broker.ts";
import { startVirtualProvider } from "../testing/virtual-provider.ts";
import { instance } from "../testing/fixture.ts";

const minute = 60_000;

/** Calls of a verb since a time. */
function times(broker: CountedBroker, operation: string, since = 0): readonly number[] {
  return broker.calls.filter((call) => call.operation === operation && call.at >= since).map(({ at }) => at);
}

test("an instance at rest is asked for at most once a minute, also when something wakes it every five seconds", async (t) => {
  const { clock, user, broker } = await startVirtualProvider(t, 0);
  await user.create(serviceInstances, instance("quiet"));
  await clock.advance(5 * minute);
  const quietFrom = clock.monotonic();
  await clock.advance(60 * minute);
  const quiet = broker.calls.filter(({ at }) => at >= quietFrom);
  assert.ok(quiet.length >= 45 && quiet.length <= 60, `${quiet.length} calls in a quiet hour`);
  const noisyFrom = clock.monotonic();
  for (let index = 0; index < 720; index++) {
    await user.mergePatch(
      serviceInstances,
      { name: "quiet" },
      { metadata: { labels: { beat: `${index}` } } },
    );
    await clock.advance(5_000);
  }
  const noisy = broker.calls.filter(({ at }) => at >= noisyFrom);
  assert.ok(noisy.length >= 45 && noisy.length <= 61, `${noisy.length} calls in a noisy hour`);
  assert.deepEqual([...new Set(noisy.map(({ operation }) => operation))], ["fetch_instance"]);
});

test("what moves is asked for fast at first and then ever more slowly, and a change of the spec wakes it at once", async (t) => {
  const { clock, user, broker } = await startVirtualProvider(t, 20 * minute);
  await user.create(serviceInstances, instance("slow"));
  await clock.advance(30 * minute);
  const polls = times(broker, "last_operation");
  const waits = polls.slice(1).map((at, index) => at - (polls[index] ?? 0));
  assert.ok(
    waits.slice(0, 5).every((wait) => wait <= 1_100),
    `${waits.slice(0, 5).join()}`,
  );
  assert.ok(
    waits.every((wait) => wait <= 30_100),
    `${Math.max(...waits)}`,
  );
  assert.ok(polls.length < 100, `${polls.length} questions in twenty minutes`);
  const changedAt = clock.monotonic();
  const spec = { forProvider: { parameters: { work_mem: "8MB" } } };
  await user.mergePatch(serviceInstances, { name: "slow" }, { spec });
  await clock.advance(5_000);
  assert.equal(times(broker, "update", changedAt).length, 1);
  assert.ok(times(broker, "last_operation", changedAt).length >= 3);
});
