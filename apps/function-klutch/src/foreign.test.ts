import assert from "node:assert/strict";
import { test } from "node:test";
import { claimNameLabel, claimNamespaceLabel } from "@klutch/api";
import type { ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { recordAt, valueAt } from "@klutch/kube-core";
import { compose } from "./compose.ts";

const labels = { [claimNameLabel]: "shop", [claimNamespaceLabel]: "team" };
const claimed = { name: "shop-x1", uid: "u-1", labels };
const manifest = {
  apiVersion: "nop.crossplane.io/v1alpha1",
  kind: "ClusterNopResource",
  metadata: { labels: { tier: "small", [claimNameLabel]: "another" } },
  spec: { forProvider: { fields: { engine: "x" } }, providerConfigRef: { name: "default" } },
};
const input = {
  apiVersion: "fn.klutch.anynines.com/v1alpha1",
  kind: "Input",
  resource: "managed-resource",
  takes: { create: "30s" },
  connectionSecretNamespace: "crossplane-system",
  manifest,
  patches: [
    { from: "spec.size", to: "spec.forProvider.fields.size", default: 1 },
    { from: "claim.name", to: "spec.forProvider.fields.owner" },
  ],
  status: [{ from: "status.atProvider.fields.size", to: "size" }],
};

function request(more: {
  readonly input?: Json;
  readonly metadata?: Json;
  readonly observed?: Json;
  readonly connection?: Readonly<Record<string, Uint8Array>>;
  readonly now?: number;
}): ComposeRequest {
  const { observed: resource, connection = {}, now } = more;
  return {
    composite: { kind: "XCache", metadata: more.metadata ?? claimed, spec: { size: 3 } },
    observed: resource === undefined ? {} : { managed: { resource, connection } },
    input: more.input ?? input,
    now,
  };
}
const made = ({ resources }: ComposeResponse): Json => resources["managed"]?.resource ?? {};
const wordsOf = ({ conditions = [] }: ComposeResponse): string => {
  const { status, reason, message } =
    conditions.find(({ type }) => type === "klutch.anynines.com/Ready") ?? {};
  return `${status} ${reason}: ${message ?? ""}`;
};
/** The managed resource as it exists, with these conditions. */
function living(conditions: readonly Json[], status: Json = {}): Json {
  const wanted = made(compose(request({})));
  const metadata = { ...recordAt(wanted, "metadata"), name: "shop-x1-abc", generation: 2 };
  return { ...wanted, metadata, status: { ...status, conditions } };
}

test("the manifest becomes a managed resource with fields of the claim, marked as the claim's and without a name of ours", () => {
  const resource = made(compose(request({})));
  assert.deepEqual(resource, {
    apiVersion: manifest.apiVersion,
    kind: manifest.kind,
    metadata: { labels: { tier: "small", ...labels } },
    spec: {
      forProvider: { fields: { engine: "x", size: 3, owner: "shop" } },
      providerConfigRef: { name: "default" },
      writeConnectionSecretToRef: { namespace: "crossplane-system", name: "u-1-managed" },
    },
  });
});

test("a namespaced kind is made in the namespace of the claim, and a namespaced composite makes none elsewhere", () => {
  const { connectionSecretNamespace: _, ...without } = input;
  const ofClaim = made(compose(request({ input: { ...without, namespaced: true } })));
  assert.equal(valueAt(ofClaim, "metadata", "namespace"), "team");
  assert.equal(valueAt(ofClaim, "spec", "writeConnectionSecretToRef"), undefined);
  const metadata = { name: "shop", namespace: "own", labels };
  const own = made(compose(request({ input: without, metadata })));
  assert.equal(valueAt(own, "metadata", "namespace"), "own");
  const { results, resources } = compose(request({ metadata }));
  assert.deepEqual(resources, {});
  assert.match(
    results?.at(-1)?.message ?? "",
    /^input\.connectionSecretNamespace is for claims; a namespaced/,
  );
});

test("readiness, words and values are those of the provider, and of the present spec only", () => {
  const of = (conditions: readonly Json[], now?: number): string =>
    wordsOf(compose(request({ observed: living(conditions), ...(now === undefined ? {} : { now }) })));
  const ready = { type: "Ready", status: "True", reason: "Available" };
  assert.equal(of([ready]), "True Available: ");
  assert.equal(of([{ ...ready, observedGeneration: 1 }]), "False Changing: the change is in progress");
  assert.equal(
    of([]),
    "False Creating: ClusterNopResource shop-x1-abc: its provider has not worked on it yet; usually ready within 30 s",
  );
  assert.match(
    of([{ type: "Synced", status: "True" }]),
    /shop-x1-abc: its provider reports no condition Ready;/,
  );
  assert.match(
    of([{ type: "Ready", status: "False", reason: "" }]),
    /^False Creating: ClusterNopResource shop-x1-abc is not ready yet, and its provider gives no cause;/,
  );
  assert.equal(
    of([{ type: "Ready", status: "False", reason: "WaitingForQuota", message: "none is\u001b[31m left" }]),
    "False Creating: WaitingForQuota: none is [31m left; usually ready within 30 s",
  );
  assert.match(
    of([{ type: "Ready", status: "False", reason: "DiskError", message: "the disk is lost" }]),
    /^False Failed: DiskError: the disk is lost; change the claim's spec/,
  );
  const failing = { type: "Synced", status: "False", reason: "ReconcileError", message: "no such region" };
  assert.equal(of([ready, failing]), "True Available: ");
  assert.equal(of([failing]), "False Failed: no such region; it is retried automatically");
});

test("connection details go to the composite, and its status has the named values, bounded", () => {
  const connection = { password: new TextEncoder().encode("s") };
  const status = { atProvider: { fields: { size: "x".repeat(10_000), secret: "hidden" } } };
  const {
    compositeStatus,
    connection: passed,
    results,
  } = compose(request({ observed: living([], status), connection }));
  assert.deepEqual(passed, connection);
  assert.match(
    results?.[0]?.message ?? "",
    /no Secret for the claim: its Composition has no spec\.writeConnectionSecretsToNamespace/,
  );
  const kept = request({ observed: living([], status), connection });
  const spec = { size: 3, writeConnectionSecretToRef: { name: "u-1", namespace: "crossplane-system" } };
  assert.deepEqual(compose({ ...kept, composite: { ...kept.composite, spec } }).results, []);
  const managed = recordAt(compositeStatus, "managed");
  assert.deepEqual(Object.keys(managed).toSorted(), ["conditions", "size"]);
  assert.ok(String(managed["size"]).length <= 800);
});

test("a mistake in the input ends the pipeline, and says field, value and what would be right", () => {
  for (const [change, message] of [
    [{ manifest: { ...manifest, kind: "nop" } }, /input\.manifest\.kind: is "nop"/],
    [{ manifest: { ...manifest, apiVersion: "v1" } }, /input\.manifest\.apiVersion: is "v1"/],
    [
      { manifest: { ...manifest, metadata: { name: "mine" } } },
      /input\.manifest\.metadata\.name: is "mine", expected one of the fields annotations, labels/,
    ],
    [{ ready: "true" }, /input\.ready: is "true", expected one of the fields/],
    [{ patches: [{ from: "status.x", to: "spec.x" }] }, /input\.patches\[0\]\.from: is "status\.x"/],
    [{ patches: [{ from: "spec.x", to: "metadata.name" }] }, /input\.patches\[0\]\.to: is "metadata\.name"/],
    [{ patches: [{ from: "parameters", to: "spec.x" }] }, /input\.patches\[0\]\.from is "parameters"/],
    [{ connectionSecretNamespace: "Not_One" }, /input\.connectionSecretNamespace: is "Not_One"/],
  ] as const) {
    const { results, resources } = compose(request({ input: { ...input, ...change } }));
    assert.deepEqual(resources, {});
    assert.equal(results?.[0]?.severity, "fatal");
    assert.match(results[0].message, message);
  }
});

test("a managed resource of another kind that exists is not replaced", () => {
  const other = { ...living([]), kind: "NopResource" };
  const { resources, results } = compose(request({ observed: other }));
  assert.deepEqual(resources, {});
  assert.match(
    results?.at(-1)?.message ?? "",
    /NopResource.* makes a nop\.crossplane\.io ClusterNopResource/,
  );
});
