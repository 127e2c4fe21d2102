import assert from "node:assert/strict";
import { test } from "node:test";
import { claimDetails, judgeClaim, type PermissionClaim } from "@klutch/api";
import { resourcesPage } from "./resources-page.ts";

const group = "example.org";
const offer = {
  group,
  resource: "widgets",
  version: "v1",
  kind: "Widget",
  scope: "Namespaced",
  description: "",
  fields: [],
} as const;

async function pageOf(claim: PermissionClaim): Promise<string> {
  const offers = [{ ...offer, permissionClaims: [claim] }];
  const session = { sessionId: "s", csrf: "c" };
  const page = await resourcesPage({ prettyName: "Test", session, offers } as never);
  return page.toString().replaceAll("&#39;", "'").replaceAll("&quot;", '"');
}

test("the page says of a claim what the terminal says: labels, annotations, reading, updating and its dangers", async () => {
  const claim: PermissionClaim = {
    resource: "secrets",
    version: "v1",
    selector: { names: Array.from({ length: 5_000 }, (_, at) => `guess-${at}`) },
    update: { labels: [{ pattern: "grafana_dashboard" }], fields: ["data"] },
  };
  const page = await pageOf(claim);
  const details = claimDetails(claim);
  assert.ok(details.length > 4);
  for (const detail of details) assert.ok(page.includes(detail), detail);
  const verdict = judgeClaim(claim, { group });
  assert.ok("reason" in verdict && page.includes(`Warning: ${verdict.reason}.`));
  assert.ok(!page.includes("guess-11"));
});

test("a claim without a danger or an option stays one sentence", async () => {
  const page = await pageOf({ resource: "secrets", version: "v1", selector: { owner: "Provider" } });
  assert.match(page, /<li>place secrets in your namespaces<\/li>/);
});

test("the page shows prices of plans, the lowest one in sight, and no name becomes markup", async () => {
  const price = (plan: string, amount: string, currency = "EUR", services: readonly string[] = []) => ({
    plan,
    services,
    perMonth: { amount, currency },
  });
  const session = { sessionId: "s", csrf: "c" };
  const shown = async (...prices: readonly object[]): Promise<string> => {
    const offers = [{ ...offer, permissionClaims: [], prices }];
    return String(await resourcesPage({ prettyName: "Test", session, offers } as never));
  };
  const page = await shown(price("big", "100.00"), price("small", "25.00", "EUR", ["pg13", "<b>x"]));
  assert.match(page, /<summary>Prices of its plans: from 25\.00 EUR per month<\/summary>/);
  assert.match(page, /<li><code>big<\/code>: 100\.00 EUR per month<\/li>/);
  assert.match(page, /<code>small<\/code>: 25\.00 EUR per month \(pg13, &lt;b&gt;x\)/);
  const mixed = await shown(price("<script>", "1.00", "USD"), price("small", "25.00"));
  assert.match(mixed, /<summary>Prices of its plans<\/summary>/, "two currencies have no lowest price");
  assert.ok(!mixed.includes("<script>"));
  assert.ok(!(await pageOf({ resource: "secrets", version: "v1" })).includes("Prices"));
});
