import assert from "node:assert/strict";
import { test } from "node:test";
import {
  adoptedAnnotation,
  boundAnnotation,
  fieldManager,
  restoredAnnotation,
  syncerFinalizer,
} from "@klutch/api";
import type { DynamicObject } from "@klutch/kube-core";
import { adoptedContent, handOver } from "./adoption.ts";
import { compareDigests, consumerDigest, providerDigest, lastSyncedOf } from "./digest.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import { planPair } from "./object-plan.ts";
import { appliedBy, consumerWidget, fieldsOf, providerWidget, tenant, copied } from "./testing/objects.ts";

const ref = { namespace: "app", name: "w" };
const adopted = (provider: DynamicObject): DynamicObject =>
  adoptedContent(provider, ref, defaultMetadataRule);

/** A claim that Crossplane has worked on, with what everybody wrote. */
function workedOn(manager: string, operation: "Apply" | "Update", metadata: object = {}): DynamicObject {
  const wanted = {
    metadata: { labels: { team: "a" }, annotations: { "example.org/note": "x" } },
    spec: { size: 1, tags: ["a", "b"] },
  };
  return providerWidget(
    {
      ...wanted.spec,
      compositionRef: { name: "c" },
      compositionRevisionRef: { name: "c-1" },
      resourceRef: { name: "xr" },
      resourceRefs: [{ name: "mr" }],
      claimRef: { name: "w" },
    },
    {
      labels: { ...wanted.metadata.labels, "crossplane.io/claim-name": "w", theirs: "y" },
      annotations: {
        ...wanted.metadata.annotations,
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "crossplane.io/external-name": "db-1",
      },
      managedFields: [
        appliedBy(manager, operation, fieldsOf(wanted)),
        appliedBy(
          "crossplane",
          "Update",
          fieldsOf({
            metadata: { labels: { "crossplane.io/claim-name": "w" } },
            spec: { compositionRef: { name: "" }, resourceRef: {}, resourceRefs: [], claimRef: {} },
          }),
        ),
      ],
      ...metadata,
    },
  );
}

for (const [who, manager, operation, note] of [
  ["we applied", fieldManager, "Apply", { "example.org/note": "x" }],
  ["an older agent created", "konnector", "Update", { "example.org/note": "x" }],
  // Of a stranger's annotations only those that no tool here acts upon.
  ["a person of the provider wrote", "kubectl-client-side-apply", "Update", {}],
] as const) {
  test(`of what ${who}, only that is copied to the consumer: no references of the control plane's machinery, none of its marks`, () => {
    const content = adopted(workedOn(manager, operation));
    assert.deepEqual(content.spec, { size: 1, tags: ["a", "b"] });
    assert.deepEqual(content.metadata, {
      ...ref,
      labels: { team: "a" },
      annotations: {
        ...note,
        [boundAnnotation]: "true",
        [adoptedAnnotation]: "true",
        [restoredAnnotation]: "true",
      },
      finalizers: [syncerFinalizer],
    });
  });
}

test("items of a list that we share with others are copied with only our fields", () => {
  const provider = providerWidget(
    { users: [{ name: "a", role: "admin", uid: 7 }, { name: "theirs" }], names: ["x", "y"] },
    {
      managedFields: [
        appliedBy(fieldManager, "Apply", {
          "f:spec": {
            "f:users": { 'k:{"name":"a"}': { ".": {}, "f:name": {}, "f:role": {} } },
            "f:names": { 'v:"y"': {} },
          },
        }),
      ],
    },
  );
  assert.deepEqual(adopted(provider).spec, { users: [{ name: "a", role: "admin" }], names: ["y"] });
});

test("what only the provider made is copied whole, but for its marks", () => {
  const provider = providerWidget(
    { size: 7 },
    { labels: { "crossplane.io/x": "y", grafana_dashboard: "1", team: "z" }, annotations: {} },
  );
  assert.deepEqual(adopted(provider).spec, { size: 7 });
  assert.deepEqual(adopted(provider).metadata.labels, { team: "z" });
});

test("a claim that was made from its upstream object is handed over, also after a restart in between", () => {
  const annotations = { [boundAnnotation]: "true", [restoredAnnotation]: "true" };
  const consumer = consumerWidget({ a: 1 }, { annotations });
  const provider = providerWidget({ a: 1 });
  const plan = planPair({
    ref,
    mapping: { state: "ready", providerNamespace: "cluster-a-app" },
    tenant,
    rule: defaultMetadataRule,
    ...copied,
    consumer,
    provider,
  });
  assert.deepEqual(plan.steps, [{ do: "handOverConsumer", ref, uid: "consumer-uid" }]);
  const digests = [
    consumerDigest(consumer, defaultMetadataRule, copied.view),
    providerDigest(provider, copied.view),
  ] as const;
  assert.equal(compareDigests(...digests, lastSyncedOf(...digests), undefined, syncerFinalizer), "needsBoth");
});

test("handing over leaves us our marks, others theirs, and the status its writer", () => {
  const status = { ...(appliedBy(fieldManager, "Update", {}) as object), subresource: "status" };
  const other = appliedBy("helm", "Update", fieldsOf({ spec: { b: 1 } }));
  const managedFields = [appliedBy(fieldManager, "Update", fieldsOf({ spec: { a: 1 } })), other, status];
  const patch = handOver(consumerWidget({ a: 1 }, { managedFields })) as readonly {
    path: string;
    value?: unknown;
  }[];
  const owners = patch.find(({ path }) => path === "/metadata/managedFields")?.value as readonly object[];
  assert.deepEqual(owners.slice(0, 2), [other, status]);
  const { operation, fieldsV1 } = owners[2] as { operation: string; fieldsV1: object };
  assert.equal(operation, "Apply");
  assert.deepEqual(Object.keys(fieldsV1), ["f:metadata"]);
});
