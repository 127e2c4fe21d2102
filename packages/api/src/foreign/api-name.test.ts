import assert from "node:assert/strict";
import { test } from "node:test";
import { checkApiName } from "./api-name.ts";

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

test("built-in, Kubernetes-owned and Klutch's APIs, wildcards and malformed names are refused with the reason", () => {
  for (const [group, plural, reason] of [
    ["", "secrets", /built into Kubernetes/],
    ["apps", "deployments", /without a dot/],
    ["k8s.io", "things", /belongs to Kubernetes/],
    ["apiregistration.k8s.io", "apiservices", /belongs to Kubernetes/],
    ["a.b.kubernetes.io", "things", /belongs to Kubernetes/],
    ["klutch.anynines.com", "apiservicebindings", /belongs to Klutch/],
    ["example-backend.klutch.anynines.com", "apiserviceexporttemplates", /belongs to Klutch/],
    ["*", "widgets", /not a DNS name/],
    ["*.org", "widgets", /not a DNS name/],
    ["example.org", "*", /named by a DNS label/],
    ["example.org", "widgets/status", /named by a DNS label/],
    ["example.org", "Widgets", /named by a DNS label/],
    ["example.org", "", /named by a DNS label/],
    ["example..org", "widgets", /not a DNS name/],
    ["example.org.", "widgets", /not a DNS name/],
    ["-a.org", "widgets", /not a DNS name/],
    [`${"a".repeat(64)}.org`, "widgets", /not a DNS name/],
    [Array.from({ length: 130 }, () => "a").join("."), "widgets", /not a DNS name/],
    ["example.org", "a".repeat(64), /named by a DNS label/],
    ["example.org\n", "widgets", /not a DNS name/],
  ] as const) {
    assert.match(checkApiName(group, plural) ?? "accepted", reason, `${plural}.${group}`);
  }
});
