import assert from "node:assert/strict";
import { test } from "node:test";
import { offerVerb } from "@klutch/api";
import type { PolicyRule } from "@klutch/kube-core";
import { fakeClient } from "@klutch/kube-testing";
import { offeredRules, readOffers } from "./offers.ts";

const { signal } = new AbortController();
const offer = (apiGroups: readonly string[], resources: readonly string[]): PolicyRule => ({
  apiGroups,
  resources,
  verbs: [offerVerb],
});
const listOf = (rules: readonly PolicyRule[] | undefined): ReturnType<typeof readOffers> =>
  readOffers(fakeClient({ find: () => Promise.resolve(rules && ({ rules } as never)) }), { signal });

test("a control plane without a list holds the backend to none", async () => {
  for (const rules of [undefined, [], [{ apiGroups: ["a.org"], resources: ["as"], verbs: ["get"] }]])
    assert.equal(await listOf(rules), undefined);
});

test("a kind is on the list when one rule names its group and its resource", async () => {
  const isOffered = await listOf([offer(["a.org"], ["as"]), offer(["b.org", ""], ["bs"])]);
  const asked = [
    ["a.org", "as"],
    ["", "bs"],
    ["a.org", "bs"],
    ["c.org", "as"],
  ] as const;
  assert.deepEqual(
    asked.map(([group, resource]) => isOffered?.(group, resource)),
    [true, true, false, false],
  );
});

test("of the rules that are handed out those on kinds of the list stay, and events of the core group", async () => {
  const rule = (apiGroup: string, ...resources: readonly string[]): PolicyRule => ({
    apiGroups: [apiGroup],
    resources,
    verbs: ["get"],
  });
  const rules = [rule("a.org", "as"), rule("a.org", "as", "bs"), rule("", "events"), rule("a.org", "events")];
  const isOffered = await listOf([offer(["a.org"], ["as"])]);
  assert.ok(isOffered !== undefined);
  assert.deepEqual(offeredRules(rules, isOffered), [rule("a.org", "as"), rule("", "events")]);
});
