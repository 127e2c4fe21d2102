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
