import assert from "node:assert/strict";
import { test } from "node:test";
import { providerDigest } from "./digest.ts";
import { localWords, tenantWords } from "./local-words.ts";
import { isBehind } from "./neutral-status.ts";
import { projectStatus } from "./status-projection.ts";
import { claimOf, fullView, providerOf, ready } from "./testing/statuses.ts";

const pair = { provider: "cluster-a-demo", consumer: "demo" };

test("the provider's namespace becomes that of the app cluster, wherever it stands as a whole", () => {
  for (const [text, local] of [
    [
      "no instance pg in namespace cluster-a-demo; it continues",
      "no instance pg in namespace demo; it continues",
    ],
    ["cluster-a-demo/pg, cluster-a-demo", "demo/pg, demo"],
    ['"cluster-a-demo".', '"demo".'],
    ["nothing", "nothing"],
    ["", ""],
  ] as const) {
    assert.equal(localWords(text, pair), local);
  }
});

test("a namespace whose name begins or ends with another one stays what it is", () => {
  for (const text of ["cluster-a-demo-two", "cluster-a-demo2", "my-cluster-a-demo", "xcluster-a-demo"])
    assert.equal(localWords(text, pair), text);
  assert.equal(localWords("cluster-a-demo-two cluster-a-demo", pair), "cluster-a-demo-two demo");
});

test("names are not patterns, on either side", () => {
  assert.equal(localWords("clusterXa", { provider: "cluster.a", consumer: "demo" }), "clusterXa");
  assert.equal(localWords("in a", { provider: "a", consumer: "$&$1" }), "in $&$1");
});

test("of a tenant's namespaces the app cluster's names are left", () => {
  const text =
    'User "system:serviceaccount:cluster-a:klutch-binder" in cluster-a-demo, cluster-a-demo-two, cluster-ab, cluster-ab-demo';
  assert.equal(
    tenantWords(text, "cluster-a"),
    'User "system:serviceaccount:this cluster:klutch-binder" in demo, demo-two, cluster-ab, cluster-ab-demo',
  );
  assert.equal(tenantWords("anything", ""), "anything");
});

const message = "no instance pg in namespace cluster-a-demo";
const status = (words: string): object => ({
  observedGeneration: 1,
  conditions: [ready("False", { message: words, observedGeneration: 1 })],
});
const provider = {
  ...providerOf(1, status(message)),
  metadata: { generation: 1, namespace: "cluster-a-demo" },
};
const claim = { ...claimOf(1), metadata: { generation: 1, namespace: "demo" } };

test("a claim shows its own namespace, while it lives and while it is deleted", () => {
  const local = "no instance pg in namespace demo";
  const of = (more: object): string =>
    JSON.stringify(
      projectStatus({
        view: fullView,
        claim: { ...claim, metadata: { ...claim.metadata, ...more } },
        provider,
        notSent: undefined,
        now: 0,
      }),
    );
  for (const more of [{}, { deletionTimestamp: "2026-01-01T00:00:00Z" }, { generation: 2 }]) {
    assert.ok(of(more).includes(local), of(more));
    assert.ok(!of(more).includes("cluster-a"), of(more));
  }
});

test("such a status is compared as a whole, because its text does not say what the claim is to show", () => {
  const object = { apiVersion: "v1", kind: "Widget", ...provider };
  assert.equal(isBehind(providerDigest(object, fullView).status ?? ""), true);
  const other = { ...object, status: status("no instance pg in namespace cluster-a-demo2") };
  assert.equal(isBehind(providerDigest(other, fullView).status ?? ""), false);
});
