import assert from "node:assert/strict";
import { test } from "node:test";
import { isSameServer } from "./provider-connection.ts";

test("two addresses are of one server when origin and path are the same, however they are written", () => {
  const accepted = "https://provider.example/k8s/clusters/c-1";
  for (const same of [
    "https://provider.example/k8s/clusters/c-1/",
    "https://PROVIDER.example:443/k8s/clusters/c-1",
    "https://provider.example/k8s/x/../clusters/c-1",
  ])
    assert.ok(isSameServer(same, accepted), same);
  for (const other of [
    "https://provider.example",
    "https://provider.example/k8s/clusters/c-1/../../vault",
    "https://provider.example/k8s/clusters/c-1/%2e%2e/%2e%2e/vault",
    "https://provider.example:8443/k8s/clusters/c-1",
    "https://provider.example./k8s/clusters/c-1",
    "https://provider.example.internal/k8s/clusters/c-1",
    String.raw`https://vault.internal\@provider.example/k8s/clusters/c-1`,
    "https://10.0.0.1/k8s/clusters/c-1",
  ])
    assert.ok(!isSameServer(other, accepted), other);
});
