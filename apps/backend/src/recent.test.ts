import assert from "node:assert/strict";
import { test } from "node:test";
import { namespaces, type KubeObject } from "@klutch/kube-core";
import { fakeClient, namespaceObject, VirtualClock } from "@klutch/kube-testing";
import { keep, keepAway } from "./apply.ts";
import { RecentStates } from "./recent.ts";

const { signal } = new AbortController();

test("a state is known for 30 seconds, to its owner alone, and until another one of the object is remembered", async () => {
  const clock = new VirtualClock();
  const states = new RecentStates(clock);
  const [one, other] = [states.of("uid-1"), states.of("uid-2")];
  one?.set("role a", "x");
  assert.deepEqual(
    [one?.has("role a", "x"), one?.has("role a", "y"), one?.has("role a")],
    [true, false, true],
  );
  assert.deepEqual([other?.has("role a", "x"), one?.has("role b")], [false, false]);
  one?.set("role a", "y");
  assert.equal(one?.has("role a", "x"), false);
  await clock.advance(30_000);
  assert.equal(one?.has("role a"), false);
  other?.set("role c", "z");
  assert.equal(states.size, 1);
  assert.equal(states.of(undefined), undefined);
});

test("an object in its wanted state is not asked for again; another state is written at once; a write that failed is not remembered", async () => {
  const calls: string[] = [];
  let failure: Error | undefined;
  let present: KubeObject | undefined;
  const client = fakeClient({
    find: () => (calls.push("find"), Promise.resolve(present as never)),
    apply: (_type, object) => {
      calls.push("apply");
      if (failure !== undefined) return Promise.reject(failure);
      present = object;
      return Promise.resolve(object as never);
    },
    delete: () => (calls.push("delete"), (present = undefined), Promise.resolve(true)),
  });
  const recent = new RecentStates(new VirtualClock()).of("uid");
  const options = { signal, recent };
  const taken = (): readonly string[] => calls.splice(0);
  const keepLabelled = (label: string): Promise<void> =>
    keep(
      client,
      namespaces,
      { ...namespaceObject("a"), metadata: { name: "a", labels: { label } } },
      options,
    );
  await keepLabelled("one");
  assert.deepEqual(taken(), ["find", "apply"]);
  await keepLabelled("one");
  assert.deepEqual(taken(), []);
  await keepLabelled("two");
  assert.deepEqual(taken(), ["apply"]);
  failure = new Error("away");
  await assert.rejects(keepLabelled("three"), /away/);
  failure = undefined;
  taken();
  await keepLabelled("two");
  assert.deepEqual(taken(), ["find"]);
  for (const seen of [["find", "delete"], []]) {
    await keepAway(client, namespaces, "b", options);
    assert.deepEqual(taken(), seen);
  }
  await keepAway(client, namespaces, "b", { signal });
  assert.deepEqual(taken(), ["find"]);
});
