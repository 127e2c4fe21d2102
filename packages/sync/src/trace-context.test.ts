import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldManager, traceAnnotation } from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { legacyRemoval, needsApply, providerContent } from "./content.ts";
import { providerDigest } from "./digest.ts";
import { defaultMetadataRule, entriesBackToConsumer, entriesForConsumer } from "./metadata-rules.ts";
import { plainView } from "./status-view.ts";

const claim: DynamicObject = {
  apiVersion: "a.example/v1",
  kind: "Widget",
  metadata: {
    namespace: "app",
    name: "one",
    uid: "u",
    annotations: { [traceAnnotation]: "forged", mine: "x" },
  },
  spec: { size: 1 },
};
const tenant = { namespace: "tenant", namespaceUid: "t" };
const wanted = providerContent(claim, { namespace: "tenant-app", name: "one" }, tenant, defaultMetadataRule);

/** The upstream object as an apply of this left it. */
function applied(content: DynamicObject): DynamicObject {
  const keys = Object.keys(content.metadata.annotations ?? {}).map((key) => [`f:${key}`, {}] as const);
  const fieldsV1 = {
    "f:metadata": { "f:annotations": Object.fromEntries(keys) },
    "f:spec": { "f:size": {} },
  };
  const managedFields = [{ manager: fieldManager, operation: "Apply", fieldsV1 }];
  return { ...content, metadata: { ...content.metadata, managedFields } };
}
const traced = (context: string): DynamicObject => ({
  ...wanted,
  metadata: {
    ...wanted.metadata,
    annotations: { ...wanted.metadata.annotations, [traceAnnotation]: context },
  },
});

test("a claim's own key of Klutch does not travel", () => {
  assert.equal(wanted.metadata.annotations?.[traceAnnotation], undefined);
});

test("a context on the upstream object is no reason to write, and none is no reason to write one", () => {
  for (const there of [applied(wanted), applied(traced("one")), applied(traced("x".repeat(10_000)))]) {
    assert.equal(needsApply(wanted, there), false);
    assert.equal(legacyRemoval(wanted, there), undefined);
    assert.equal(
      providerDigest(there, plainView).content,
      providerDigest(applied(wanted), plainView).content,
    );
  }
  const digestOf = (context: string): unknown => providerDigest(applied(traced(context)), plainView).cause;
  const context = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  assert.deepEqual(
    [digestOf(context), digestOf("one"), digestOf("x".repeat(10_000))],
    [context, undefined, undefined],
  );
  const { mine: _mine, ...others } = traced("one").metadata.annotations ?? {};
  const lacking = applied({ ...wanted, metadata: { ...wanted.metadata, annotations: others } });
  assert.equal(needsApply(wanted, lacking), true, "what else is missing still counts");
});

test("a context never comes back", () => {
  const entries = { [traceAnnotation]: "one" };
  assert.deepEqual([entriesBackToConsumer(entries), entriesForConsumer(entries)], [{}, {}]);
});
