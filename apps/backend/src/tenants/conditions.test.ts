import assert from "node:assert/strict";
import { test } from "node:test";
import { findCondition } from "@klutch/kube-core";
import { conditionText } from "../testing/tenants.ts";
import { conditionsOfTenant, type LimitFacts } from "./conditions.ts";

const databases = { group: "example.org", resource: "databases", max: 3 };
const facts = (more: Partial<LimitFacts> = {}): LimitFacts => ({
  limits: { objects: [databases] },
  plan: { writes: [], removals: [], totals: [{ ...databases, used: 1 }], uncounted: [] },
  others: [],
  bound: ["databases.example.org"],
  serviceNamespaces: 1,
  isWide: false,
  refusal: undefined,
  ...more,
});
const text = (type: string, more: Partial<LimitFacts>): string =>
  conditionText(conditionsOfTenant(undefined, facts(more), 0), type);

test("limits that hold are True, and a Tenant without limits has no condition about them", () => {
  assert.equal(text("Ready", {}).trim(), "True");
  const before = conditionsOfTenant(undefined, facts({ refusal: "no" }), 0);
  const conditions = conditionsOfTenant(before, facts({ limits: {} }), 60_000);
  assert.deepEqual(
    conditions.map(({ type }) => type),
    ["Ready", "AppCluster"],
  );
  assert.equal(findCondition(conditions, "AppCluster")?.lastTransitionTime, "1970-01-01T00:00:00Z");
});

test("a limit that does not hold says why, the worst first", () => {
  const all = {
    refusal: "invalid name",
    others: [{ kind: "x.example.org", reason: "UnknownKind" }],
    isWide: true,
  } as const;
  assert.match(
    text("LimitsEnforced", all),
    /^False QuotaRefused .*klutch-tenant-limits could not be written.*invalid name$/,
  );
  assert.match(
    text("LimitsEnforced", { ...all, refusal: undefined }),
    /names x\.example\.org: no kind .* Bound here: databases\.example\.org\. Other limits hold$/,
  );
  const scoped = [{ kind: "x.example.org", reason: "ClusterScopedKind" }] as const;
  assert.match(text("LimitsEnforced", { others: scoped }), /^False ClusterScopedKind .* in no namespace/);
  assert.match(text("LimitsEnforced", { isWide: true }), /^False ConsumerScopeCluster .*consumer-scope/);
  const plan = { ...facts().plan, uncounted: ["a", "b", "c", "d", "e", "f", "g"] };
  assert.match(
    text("LimitsEnforced", { plan }),
    /^False Counting .*not counted yet in a, b, c, d, e and 2 more/,
  );
});

test("use beyond limits is told with numbers, of objects and of namespaces", () => {
  const plan = { ...facts().plan, totals: [{ ...databases, used: 5 }] };
  const limits = { objects: [databases], serviceNamespaces: 1 };
  assert.match(
    text("WithinLimits", { plan, limits, serviceNamespaces: 2 }),
    /^False OverLimit databases\.example\.org: 5, and 3 are allowed; namespaces: 2, and 1 are allowed\. Nothing is deleted/,
  );
  assert.equal(text("WithinLimits", { limits, serviceNamespaces: 1 }).trim(), "True");
});
