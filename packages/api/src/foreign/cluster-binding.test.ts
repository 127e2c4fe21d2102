import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseClusterBinding } from "./cluster-binding.ts";
import { mutationsOf } from "./testing/mutations.ts";

const good = {
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "ClusterBinding",
  metadata: { namespace: "cluster-a", name: "cluster", resourceVersion: "7" },
  spec: {
    kubeconfigSecretRef: { name: "kubeconfig", key: "kubeconfig" },
    providerPrettyName: "anynines",
    serviceProviderSpec: { renewal: { url: "https://provider.example/renew" } },
  },
  status: {
    lastHeartbeatTime: "2026-01-01T00:00:00Z",
    heartbeatInterval: "5m0s",
    konnectorVersion: "v1",
    renewalKey: "key",
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
  },
};

test("a ClusterBinding in order is taken as it is", () => {
  assert.deepEqual(parseClusterBinding(good), {
    resourceVersion: "7",
    prettyName: "anynines",
    kubeconfigSecretRef: { name: "kubeconfig", key: "kubeconfig" },
    renewalUrl: "https://provider.example/renew",
    status: good.status,
  });
});

test("what the provider calls itself comes out as one short line", () => {
  const named = (providerPrettyName: unknown): string | undefined =>
    parseClusterBinding({ ...good, spec: { ...good.spec, providerPrettyName } }).prettyName;
  assert.equal(named("a\u001b[31m\nb\u202ec"), "a [31m b c");
  assert.equal(named("x".repeat(1_000_000))?.length, 128);
  assert.equal(named(7), undefined);
  assert.equal(named("\n"), undefined);
});

test("a Secret that is named by a path, or without the key of kubeconfigs, is no Secret", () => {
  for (const kubeconfigSecretRef of [
    null,
    "kubeconfig",
    { name: "../other", key: "kubeconfig" },
    { name: "kubeconfig,metadata.namespace=x", key: "kubeconfig" },
    { name: "kubeconfig", key: "a/b" },
    { name: "kubeconfig", key: "" },
    { name: "a".repeat(254), key: "kubeconfig" },
  ]) {
    const parsed = parseClusterBinding({ ...good, spec: { ...good.spec, kubeconfigSecretRef } });
    assert.equal(parsed.kubeconfigSecretRef, undefined, JSON.stringify(kubeconfigSecretRef));
  }
});

test("whatever is put in the place of any field, nothing is thrown and everything that comes out is bounded", () => {
  fc.assert(
    fc.property(mutationsOf(good), (object) => {
      const { prettyName, kubeconfigSecretRef, renewalUrl, status } = parseClusterBinding(object);
      if (prettyName !== undefined) assert.match(prettyName, /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,128}$/u);
      if (kubeconfigSecretRef !== undefined) {
        assert.match(kubeconfigSecretRef.name, /^[a-z0-9][-.a-z0-9]{0,252}$/);
        assert.equal(kubeconfigSecretRef.key, "kubeconfig");
      }
      if (renewalUrl !== undefined) assert.match(renewalUrl, /^https?:\/\/\S+\/renew$/);
      const { conditions = [], ...texts } = status;
      for (const text of Object.values(texts)) assert.ok(typeof text === "string" && text.length <= 1024);
      for (const condition of conditions) {
        for (const text of Object.values(condition)) {
          assert.ok(typeof text === "string" && text.length <= 4096 && !/\p{Cc}/u.test(text));
        }
      }
    }),
    { numRuns: 3_000 },
  );
});
