/** An agent that is bound to an honest provider and to one that sends bombs; bombs.long.test.ts has more of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionsOf } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { startBombedFixture } from "../testing/bombed.ts";
import { bombs, endlessList, noBomb } from "../testing/bombs.ts";
import { widget } from "../testing/fixture.ts";

const { agent, hostile, widgets, gizmos, consumer, binding, untilReady, createSynced, testBombs } =
  await startBombedFixture();

testBombs(bombs);

test("a list without an end is told on the binding, and the honest binding stays ready", async () => {
  hostile.arm(endlessList);
  await agent.restart();
  // A new connection has 30 seconds for its first lists (`syncTimeoutMs`); one that stands tells it after three (stalls.ts).
  const told = await waitFor("the endless list to be told", async () => {
    const conditions = conditionsOf(await binding(gizmos.name));
    return conditions.find(({ message = "" }) => /list \w+: the server sent/.test(message));
  });
  assert.match(
    told.message ?? "",
    /the server sent 100 pages and names one more each time, so the list was given up/,
  );
  await untilReady(widgets.name);
});

test("a developer's claim that is nested in thousands of levels holds up no other claim, also when all are listed again", async () => {
  hostile.arm(noBomb);
  const levels = Array.from({ length: 5_000 });
  const deepSpec = levels.reduce<unknown>((inner) => [inner], 7);
  await consumer.client.create(widgets.type, widget(widgets.type, "deep", { deep: deepSpec }));
  // A whole number of 17 digits takes the parser a recursion for each level. The server stores it; the client does not read the answer.
  const exact = widget(widgets.type, "exact", { deep: deepSpec, beyond: 1e16 });
  await assert.rejects(consumer.client.create(widgets.type, exact), { code: "TooLarge" });
  await createSynced(widgets.type, "after-deep");
  await agent.restart();
  await createSynced(widgets.type, "after-restart");
  await untilReady(widgets.name);
});
