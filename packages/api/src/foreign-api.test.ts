import assert from "node:assert/strict";
import { test } from "node:test";
import { checkApiName } from "./foreign-api.ts";

test("APIs of a provider's own group may be offered", () => {
  for (const [group, plural] of [
    ["anynines.com", "postgresqlinstances"],
    ["dataservices.anynines.com", "servicebindings"],
    ["x.example.org", "v1-things"],
    ["cluster.x-k8s.io", "clusters"],
    ["myk8s.io", "things"],
  ] as const) {
    assert.equal(checkApiName(group, plural), undefined, `${plural}.${group}`);
  }
});

test("B1: built-in, Kubernetes-owned and Klutch's APIs, wildcards and malformed names are refused with the reason", () => {
  for (const [group, plural, reason] of [
    ["", "secrets", /no group/],
    ["apps", "deployments", /no dot/],
    ["k8s.io", "things", /belongs to Kubernetes/],
    ["apiregistration.k8s.io", "apiservices", /belongs to Kubernetes/],
    ["a.b.kubernetes.io", "things", /belongs to Kubernetes/],
    ["klutch.anynines.com", "apiservicebindings", /belongs to Klutch/],
    ["example-backend.klutch.anynines.com", "apiserviceexporttemplates", /belongs to Klutch/],
    ["*", "widgets", /not an API group/],
    ["*.org", "widgets", /not an API group/],
    ["example.org", "*", /not the plural name/],
    ["example.org", "widgets/status", /not the plural name/],
    ["example.org", "Widgets", /not the plural name/],
    ["example.org", "", /not the plural name/],
    ["example..org", "widgets", /not an API group/],
    ["example.org.", "widgets", /not an API group/],
    ["-a.org", "widgets", /not an API group/],
    [`${"a".repeat(64)}.org`, "widgets", /not an API group/],
    [Array.from({ length: 130 }, () => "a").join("."), "widgets", /not an API group/],
    ["example.org", "a".repeat(64), /not the plural name/],
    ["example.org\n", "widgets", /not an API group/],
  ] as const) {
    assert.match(checkApiName(group, plural) ?? "accepted", reason, `${plural}.${group}`);
  }
});

test("B5: the sentence holds printable ASCII only and stays short, whatever the name", () => {
  for (const name of ["\u001b[31mred", "a\nb", "\u202egnp", "x".repeat(100_000), "\u0000", "\u009b31m"]) {
    for (const sentence of [checkApiName("example.org", name), checkApiName(name, "widgets")]) {
      assert.match(sentence ?? "", /^[\x20-\x7e]{1,300}$/);
    }
  }
});
