import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { announcedDescription, parseAnnouncedApis } from "./announced-apis.ts";

const queues = {
  group: "example.org",
  resource: "queues",
  kind: "Queue",
  description: "A queue.",
  price: "small 25.00 EUR",
};

test("announced APIs in order are taken as they are", () => {
  const asking = { group: "example.org", resource: "topics", asksPermissions: true };
  assert.deepEqual(parseAnnouncedApis([queues, asking]), [queues, asking]);
});

test("10,000 names are cut to 64, and a name that comes twice counts once", () => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({ ...queues, resource: `a${index}` }));
  assert.equal(parseAnnouncedApis(many).length, 64);
  assert.deepEqual(parseAnnouncedApis([queues, { ...queues, kind: "Other" }]), [queues]);
});

test("names of Kubernetes and Klutch, names with markup and paths are left out", () => {
  for (const [group, resource] of [
    ["", "secrets"],
    ["apps", "deployments"],
    ["rbac.authorization.k8s.io", "clusterroles"],
    ["klutch.anynines.com", "apiservicebindings"],
    ["example.org", "<b>queues</b>"],
    ["example.org", "queues/status"],
    ["example.org", "*"],
    ["*.org", "queues"],
    ["example.org\u001b[2J", "queues"],
    ["example.org", "q".repeat(64)],
    [7, {}],
  ])
    assert.deepEqual(
      parseAnnouncedApis([{ ...queues, group, resource }]),
      [],
      JSON.stringify([group, resource]),
    );
});

test("words steer no terminal and have one line, and a strange flag counts as asking", () => {
  const [read, big, none] = parseAnnouncedApis([
    {
      ...queues,
      kind: "<script>",
      description: "Good.\u001b[31m\nFree money",
      price: "\u001b[2J\nsmall 0.00 EUR",
      asksPermissions: "no",
    },
    { ...queues, resource: "big", price: "x".repeat(1_000_000) },
    { ...queues, resource: "none", price: -5 },
  ]);
  assert.equal(big?.price?.length, 400);
  assert.equal(none?.price, undefined);
  const { price = "", ...words } = read ?? {};
  assert.ok(price.endsWith("small 0.00 EUR") && !/[\n\p{Cc}]/u.test(price), price);
  assert.deepEqual(words, {
    group: "example.org",
    resource: "queues",
    description: "Good.",
    asksPermissions: true,
  });
  const long = announcedDescription("x".repeat(1_000_000)) ?? "";
  assert.equal(long.length, 200);
  assert.equal(announcedDescription("\n\t"), undefined);
});

test("any value is read without an exception", () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      for (const one of [value, [value], [{ ...queues, description: value }]])
        for (const { resource, description = "" } of parseAnnouncedApis(one)) {
          assert.match(resource, /^[a-z][-a-z0-9]*$/);
          assert.ok(description.length <= 200);
        }
    }),
  );
});
