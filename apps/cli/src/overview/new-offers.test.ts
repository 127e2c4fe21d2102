import assert from "node:assert/strict";
import { test } from "node:test";
import type { DynamicObject } from "@klutch/kube-core";
import { newOfferColumns, newOfferRows } from "./new-offers.ts";
import { formatRows } from "./table.ts";

const binding = (name: string, newAPIs?: unknown): DynamicObject => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "APIServiceBinding",
  metadata: { namespace: "klutch-bind", name },
  status: { providerPrettyName: "Exa\u001b[31mmple", newAPIs },
});
const queues = { group: "example.org", resource: "queues", kind: "Queue", description: "A queue." };

test("announced APIs of all bindings are listed once, without those that are bound meanwhile", () => {
  const topics = { ...queues, resource: "topics", kind: "Topic", asksPermissions: true };
  const rows = newOfferRows([
    binding("widgets.example.org", [topics, queues]),
    binding("queues.example.org", [topics]),
  ]);
  assert.deepEqual(
    rows.map(({ fields }) => [fields["api"], fields["permissions"]]),
    [["topics.example.org", "asks"]],
  );
  assert.match(
    formatRows(newOfferRows([binding("widgets.example.org", [queues])]), newOfferColumns, undefined),
    /^API +KIND +PROVIDER +PERMISSIONS +DESCRIPTION\nqueues\.example\.org +Queue +Exa.*mple +none +A queue\.\n$/,
  );
});

test("wide lists and JSON show the announced prices of a month in the column of klutch offers, and short ones do not", () => {
  const priced = { ...queues, price: "small 25.00 EUR, big 90.00 EUR (pg17)" };
  const rows = newOfferRows([binding("widgets.example.org", [priced, { ...queues, resource: "topics" }])]);
  const text = formatRows(rows, newOfferColumns, "wide");
  assert.match(text, /^API .* PRICE +DESCRIPTION\n/);
  assert.match(text, /\nqueues\.example\.org .* small 25\.00 EUR, big 90\.00 EUR \(pg17\) +A queue\./);
  assert.match(text, /\ntopics\.example\.org .* none +- +A queue\./);
  assert.match(formatRows(rows, newOfferColumns, "json"), /"price": "small 25\.00 EUR/);
  assert.doesNotMatch(formatRows(rows, newOfferColumns, undefined), /PRICE|25\.00/);
});

test("a binding that lies neither steers the terminal nor lists more than a person reads", () => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({
    ...queues,
    resource: `a${index}`,
    kind: "<b>\n",
    description: "\u001b[2J\nfree",
    price: "\u001b[2J\n0.00 EUR",
  }));
  const text = formatRows(newOfferRows([binding("w.example.org", many)]), newOfferColumns, "wide");
  assert.equal(text.split("\n").length, 66);
  assert.ok(!text.includes("\u001b") && !text.includes("<b>"));
  for (const lie of [7, "x", {}, [null, 1, { group: {}, resource: [] }]])
    assert.deepEqual(newOfferRows([binding("w.example.org", lie)]), []);
});
