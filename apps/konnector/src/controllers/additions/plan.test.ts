import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnnouncedApi } from "@klutch/api";
import { mostAutoBound, type ObservedAdditions, planAdditions } from "./plan.ts";

const queues = { group: "example.org", resource: "queues" };
const topics = { group: "example.org", resource: "topics", asksPermissions: true };
const foreign = { group: "other.org", resource: "queues" };
const observed = (facts: Partial<ObservedAdditions>): ObservedAdditions => ({
  announced: [queues, topics, foreign],
  bound: new Set(),
  shown: [],
  autoBind: undefined,
  autoBound: 0,
  ...facts,
});
const all = { groups: ["example.org"], except: [] };
const names = ["queues.example.org", "topics.example.org", "queues.other.org"];

test("without an opt-in everything is shown and told once, and nothing is bound", () => {
  const plan = planAdditions(observed({}));
  assert.deepEqual(plan, { show: [queues, topics, foreign], tell: names, bind: [], held: [] });
  assert.deepEqual(planAdditions(observed({ shown: plan.show })).tell, []);
});

test("a bound API is neither shown nor bound again, whatever the provider announces", () => {
  const plan = planAdditions(observed({ bound: new Set(["queues.example.org"]), autoBind: all }));
  assert.deepEqual(plan.show, [topics, foreign]);
  assert.deepEqual(plan.bind, []);
});

test("all APIs of a named group are bound but those that ask for permissions or are excepted; other groups and those below it are not", () => {
  const below = { group: "sub.example.org", resource: "queues" };
  const plan = planAdditions(observed({ announced: [queues, topics, foreign, below], autoBind: all }));
  assert.deepEqual(plan.bind, ["queues.example.org"]);
  assert.deepEqual(plan.tell, ["topics.example.org", "queues.other.org", "queues.sub.example.org"]);
  const excepted = { ...all, except: ["queues.example.org"] };
  assert.deepEqual(planAdditions(observed({ autoBind: excepted })).bind, []);
});

test("a provider that announces thousands gets a bounded number bound, those of earlier processes included", () => {
  const announced: readonly AnnouncedApi[] = Array.from({ length: 10_000 }, (_, index) => ({
    group: "example.org",
    resource: `a${index}`,
  }));
  const plan = planAdditions(observed({ announced, autoBind: all }));
  assert.equal(plan.bind.length, mostAutoBound);
  assert.equal(plan.held.length, 10_000 - mostAutoBound);
  assert.deepEqual(planAdditions(observed({ announced, autoBind: all, autoBound: mostAutoBound })).bind, []);
  assert.deepEqual(planAdditions(observed({ announced, autoBind: all, autoBound: 10_000 })).bind, []);
});
