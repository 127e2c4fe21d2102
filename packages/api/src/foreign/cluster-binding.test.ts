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
    limits: new Map(),
    canary: {},
    newAPIs: [],
    wantedKonnector: undefined,
    konnectorUpdates: undefined,
    status: good.status,
  });
});

const widgets = { group: "example.org", resource: "widgets", max: 3, used: 1 };
const limited = (
  limits: unknown,
  contact: unknown = "ann@example.org",
): ReturnType<typeof parseClusterBinding> =>
  parseClusterBinding({ ...good, status: { ...good.status, limits, contact } });

test("limits come out by the name of their API, with the contact, and are no part of the status that an agent writes", () => {
  const parsed = limited([widgets, { ...widgets, resource: "gadgets", max: 0, used: 7 }]);
  assert.deepEqual(Object.fromEntries(parsed.limits), {
    "widgets.example.org": { max: 3, used: 1, contact: "ann@example.org" },
    "gadgets.example.org": { max: 0, used: 7, contact: "ann@example.org" },
  });
  assert.deepEqual(parsed.status, good.status);
  assert.deepEqual(limited([widgets], "").limits.get("widgets.example.org"), { max: 3, used: 1 });
});

test("numbers of the canary are no part of the status that an agent writes, and anything else is none", () => {
  const withCanary = (canary: unknown): ReturnType<typeof parseClusterBinding> =>
    parseClusterBinding({ ...good, status: { ...good.status, canary } });
  const parsed = withCanary({ sent: 7, answered: 0 });
  assert.deepEqual(parsed.canary, { sent: 7, answered: 0 });
  assert.deepEqual(parsed.status, good.status);
  for (const lie of [null, "7", -1, 0.5, 2 ** 53, 1e300, Number.NaN, [7], "x".repeat(100_000)])
    assert.deepEqual(
      withCanary({ sent: lie, answered: 3 }).canary,
      { answered: 3 },
      String(lie).slice(0, 20),
    );
  for (const lie of [null, 7, "7", []]) assert.deepEqual(withCanary(lie).canary, {});
});

test("a limit that lies about its shape is left out, and the others are kept", () => {
  const lies: readonly unknown[] = [
    null,
    "widgets",
    [],
    {},
    ...[-1, 1e300, 2 ** 53, 0.5, Number.NaN, "3", null, true].flatMap((number) => [
      { ...widgets, max: number },
      { ...widgets, used: number },
    ]),
    ...["", "Widgets", "../x", "a.b", "widgets/status", "x'||true", "*", 7].map((resource) => ({
      ...widgets,
      resource,
    })),
    ...["", "Example.org", "exa mple", "a/b", "x".repeat(300), "'", 7].map((group) => ({
      ...widgets,
      group,
    })),
  ];
  for (const lie of lies) {
    const { limits } = limited([lie, { ...widgets, resource: "gadgets" }]);
    assert.deepEqual([...limits.keys()], ["gadgets.example.org"], JSON.stringify(lie));
  }
  assert.deepEqual(limited([widgets, { ...widgets, max: 9 }]).limits.get("widgets.example.org")?.max, 3);
});

test("10,000 limits are no more than 1,000, and a contact is one short line", () => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({ ...widgets, resource: `widgets${index}s` }));
  assert.equal(limited(many).limits.size, 1000);
  const contactOf = (contact: unknown): string | undefined =>
    limited([widgets], contact).limits.get("widgets.example.org")?.contact;
  assert.equal(contactOf("Ann\u001b[31m\n<b>ann@example.org\u202e"), "Ann [31m <b>ann@example.org");
  assert.equal(contactOf("x".repeat(1_000_000))?.length, 128);
  assert.equal(contactOf("\u0000\n"), undefined);
  assert.equal(contactOf({ name: "Ann" }), undefined);
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

const withLimits = { ...good, status: { ...good.status, limits: [widgets, widgets], contact: "Ann" } };

test("whatever is put in the place of any field, nothing is thrown and everything that comes out is bounded", () => {
  fc.assert(
    fc.property(mutationsOf(withLimits), (object) => {
      const { prettyName, kubeconfigSecretRef, renewalUrl, limits, status } = parseClusterBinding(object);
      for (const [name, { max, used, contact = "x" }] of limits) {
        assert.match(name, /^[a-z][-.a-z0-9]{0,252}$/);
        for (const number of [max, used]) assert.ok(Number.isSafeInteger(number) && number >= 0);
        assert.match(contact, /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,128}$/u);
      }
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

test("the wanted version is that of a release or nothing, whatever the provider writes", () => {
  const wanted = (version: unknown): unknown =>
    parseClusterBinding({
      ...good,
      metadata: { ...good.metadata, annotations: { "klutch.anynines.com/konnector-version": version } },
    }).wantedKonnector;
  assert.equal(wanted("v1.6.1"), "v1.6.1");
  for (const text of ["v1.6.1@sha256:0", "v1.6.1 --privileged", "latest", "", 16, null, "v1.6.1\n"])
    assert.equal(wanted(text), undefined);
});
