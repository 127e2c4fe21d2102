import assert from "node:assert/strict";
import { test } from "node:test";
import {
  adoptedAnnotation,
  boundAnnotation,
  clusterNamespaceAnnotation,
  fieldManager,
  restoredAnnotation,
  specDigestAnnotation,
} from "@klutch/api";
import type { DynamicObject, ObjectMeta } from "@klutch/kube-core";
import fc from "fast-check";
import { appliedPart, isBound, recordOf, specMark } from "./content.ts";
import { reduceManagedFields } from "./fields.ts";
import { defaultMetadataRule } from "./metadata-rules.ts";
import type { Mapping } from "./namespaces.ts";
import {
  type ObservedPair,
  type PairPlan,
  planAnswered,
  planPair,
  stagesOf,
  type Step,
} from "./object-plan.ts";
import { appliedBy, consumerWidget, fieldsOf, providerWidget, tenant, copied } from "./testing/objects.ts";
import { fullView } from "./testing/statuses.ts";

const ready: Mapping = { state: "ready", providerNamespace: "cluster-a-app" };
const deleting: ObjectMeta = { deletionTimestamp: "2026-01-01T00:00:00Z" };

const plan = (pair: Partial<ObservedPair>): PairPlan => planPair(observed(pair));

function observed(pair: Partial<ObservedPair>): ObservedPair {
  const ref = { namespace: "app", name: "w" };
  return {
    ref,
    mapping: ready,
    tenant,
    rule: defaultMetadataRule,
    ...copied,
    consumer: undefined,
    provider: undefined,
    ...pair,
  };
}

const kinds = (steps: readonly Step[]): readonly string[] => steps.map((step) => step.do);

test("a new claim is marked first and then applied", () => {
  const { steps } = plan({ consumer: consumerWidget({ a: 1 }, { finalizers: undefined }) });
  assert.deepEqual(kinds(steps), ["addFinalizer", "applyProvider"]);
});

test("an unmapped namespace is asked for, a pending one is waited for", () => {
  const consumer = consumerWidget({ a: 1 });
  const missing = plan({ consumer, mapping: { state: "missing" } });
  assert.deepEqual(missing, {
    steps: [{ do: "createMapping", consumerNamespace: "app" }],
    waiting: "mapping",
  });
  assert.deepEqual(plan({ consumer, mapping: { state: "pending" } }), { steps: [], waiting: "mapping" });
});

test("nothing is made of an API that is not offered any more, and the claim says so at once; existing objects follow their claims", () => {
  const consumer = consumerWidget({ a: 1 }, { generation: 1, finalizers: undefined });
  const withdrawn = "widgets.example.org";
  const { steps, waiting } = plan({ consumer, withdrawn, view: fullView });
  assert.equal(waiting, "notOffered");
  assert.deepEqual(kinds(steps), ["writeStatus"]);
  assert.match(JSON.stringify(steps), /The platform does not offer widgets\.example\.org any more\./);
  const provider = providerWidget({ a: 2 });
  assert.ok(kinds(plan({ consumer, provider, withdrawn }).steps).includes("applyProvider"));
  assert.ok(kinds(plan({ consumer: undefined, provider, withdrawn }).steps).length === 0);
});

test("a claim that was refused for the limit says so at once and writes nothing else; existing objects follow their claims, and deletions go on", () => {
  const consumer = consumerWidget({ a: 1 }, { generation: 1 });
  const limitReached = "this cluster may have 3 widgets, has 3; ask Ann";
  const { steps, waiting } = plan({ consumer, limitReached, view: fullView });
  assert.equal(waiting, "limitReached");
  assert.deepEqual(kinds(steps), ["writeStatus"]);
  assert.ok(JSON.stringify(steps).includes(`has not got this spec yet: ${limitReached}"`));
  const provider = providerWidget({ a: 2 });
  assert.ok(kinds(plan({ consumer, provider, limitReached }).steps).includes("applyProvider"));
  const deleting = consumerWidget({ a: 1 }, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  assert.deepEqual(kinds(plan({ consumer: deleting, limitReached }).steps), ["removeFinalizer"]);
});

test("a claim that was refused by a quota that is not counted yet says so at once and writes nothing else; deletions go on", () => {
  const consumer = consumerWidget({ a: 1 }, { generation: 1 });
  const { steps, waiting } = plan({ consumer, quotaNotCounted: true, view: fullView });
  assert.equal(waiting, "quotaNotCounted");
  assert.deepEqual(kinds(steps), ["writeStatus"]);
  assert.match(JSON.stringify(steps), /has not got this spec yet: the control plane is counting the objects/);
  const provider = providerWidget({ a: 2 });
  assert.ok(kinds(plan({ consumer, provider, quotaNotCounted: true }).steps).includes("applyProvider"));
  const deleting = consumerWidget({ a: 1 }, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  assert.deepEqual(kinds(plan({ consumer: deleting, quotaNotCounted: true }).steps), ["removeFinalizer"]);
});

test("a new claim's marks and its first upstream object go out side by side, and everything else goes in order", () => {
  const stages = (pair: Partial<ObservedPair>): readonly (readonly string[])[] =>
    stagesOf(plan(pair).steps).map(kinds);
  const consumer = consumerWidget({ a: 1 }, { finalizers: [] });
  assert.deepEqual(stages({ consumer }), [["addFinalizer", "applyProvider"]]);
  const provider = providerWidget({ a: 2 });
  assert.deepEqual(stages({ consumer, provider }), [["addFinalizer"], ["applyProvider"]]);
  const restored = {
    ...consumer,
    metadata: { ...consumer.metadata, annotations: { [restoredAnnotation]: "x" } },
  };
  assert.deepEqual(stages({ consumer: restored }), [
    ["addFinalizer"],
    ["handOverConsumer"],
    ["applyProvider"],
  ]);
  assert.deepEqual(stages({ consumer: undefined, provider: undefined }), []);
});

test("a field that only we hold and that is no longer wanted causes an apply", () => {
  const fieldsV1 = fieldsOf({ spec: { a: 1, b: 2 } });
  const managedFields = [appliedBy(fieldManager, "Apply", fieldsV1)];
  const provider = providerWidget({ a: 1, b: 2 }, { managedFields });
  assert.deepEqual(kinds(plan({ consumer: consumerWidget({ a: 1 }), provider }).steps), ["applyProvider"]);
});

test("what an older agent created is removed by name", () => {
  const fieldsV1 = fieldsOf({ spec: { a: 1, b: { c: 1, d: 2 } } });
  const managedFields = [appliedBy("konnector", "Update", fieldsV1)];
  const provider = providerWidget({ a: 1, b: { c: 1, d: 2 } }, { managedFields });
  const [step] = plan({ consumer: consumerWidget({ a: 1, b: { c: 1 } }), provider }).steps;
  assert.deepEqual(step, {
    do: "patchProvider",
    ref: { namespace: "cluster-a-app", name: "w" },
    patch: { spec: { b: { d: null } } },
  });
});

test("what an older agent created is removed by name, also after we have applied it ourselves", () => {
  const fieldsV1 = fieldsOf({ spec: { a: 1, b: 2 } });
  const managedFields = [
    appliedBy("konnector", "Update", fieldsV1),
    appliedBy(fieldManager, "Apply", fieldsV1),
  ];
  const provider = reduceManagedFields(providerWidget({ a: 1, b: 2 }, { managedFields }));
  const { steps } = plan({ consumer: consumerWidget({ a: 1 }), provider });
  assert.deepEqual(kinds(steps), ["patchProvider", "applyProvider"]);
  assert.ok(steps[0]?.do === "patchProvider");
  assert.deepEqual(steps[0].patch, { spec: { b: null } });
});

test("an object that an older agent left, and that is as wanted, is not written at all", () => {
  const fieldsV1 = fieldsOf({ spec: { a: 1 } });
  const managedFields = [appliedBy("konnector", "Update", fieldsV1)];
  const provider = providerWidget({ a: 1, late: true }, { managedFields });
  assert.deepEqual(plan({ consumer: consumerWidget({ a: 1 }), provider }), { steps: [] });
});

test("fields of others (late initialisation, resourceRef) cause no write, also when we once held them too", () => {
  const annotations = { [boundAnnotation]: "true" };
  const managedFields = [
    appliedBy(fieldManager, "Apply", fieldsOf({ metadata: { annotations }, spec: { a: 1, shared: 1 } })),
    appliedBy("crossplane", "Update", fieldsOf({ spec: { shared: 1, resourceRef: { name: "x" } } })),
  ];
  const provider = providerWidget({ a: 1, shared: 1, resourceRef: { name: "x" } }, { managedFields });
  assert.deepEqual(plan({ consumer: consumerWidget({ a: 1 }), provider }), { steps: [] });
});

test("a wanted field that somebody took from us and set back is taken again, so that their next change is noticed", () => {
  const annotations = { [boundAnnotation]: "true" };
  const consumer = consumerWidget({ a: 1, b: 2 });
  const heldBy = (ours: object, theirs: object): DynamicObject => {
    const managedFields = [
      appliedBy(fieldManager, "Apply", fieldsOf({ metadata: { annotations }, spec: ours })),
      appliedBy("kubectl-edit", "Update", fieldsOf({ spec: theirs })),
    ];
    return reduceManagedFields(providerWidget({ a: 1, b: 2 }, { managedFields }));
  };
  assert.deepEqual(kinds(plan({ consumer, provider: heldBy({ a: 1 }, { b: 2 }) }).steps), ["applyProvider"]);
  assert.deepEqual(plan({ consumer, provider: heldBy({ a: 1, b: 2 }, { b: 2 }) }), { steps: [] });
});

test("labels, annotations and other top-level fields follow after creation", () => {
  const provider = providerWidget({ a: 1 });
  for (const change of [
    consumerWidget({ a: 1 }, { labels: { team: "x" } }),
    consumerWidget({ a: 1 }, { annotations: { "example.org/note": "x" } }),
    { ...consumerWidget({ a: 1 }), extra: { b: 2 } },
  ]) {
    assert.deepEqual(kinds(plan({ consumer: change, provider }).steps), ["applyProvider"]);
  }
});

test("labels that steer the control plane stay in the app cluster", () => {
  const annotations = {
    "crossplane.io/external-name": "somebody-elses",
    "klutch.anynines.com/bound": "no",
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
    "example.org/kept": "x",
  };
  const [step] = plan({ consumer: consumerWidget({}, { annotations }) }).steps;
  assert.ok(step?.do === "applyProvider");
  const { [specDigestAnnotation]: mark, ...others } = step.content.metadata.annotations ?? {};
  assert.equal(mark, specMark(consumerWidget({})));
  assert.deepEqual(others, { "example.org/kept": "x", [boundAnnotation]: "true" });
});

test("a composite is deleted in the foreground, so that its claim stays while what it is made of does", () => {
  const consumer = consumerWidget({}, deleting);
  const provider = providerWidget({}, { finalizers: ["composite.apiextensions.crossplane.io"] });
  const [step] = plan({ consumer, provider }).steps;
  assert.ok(step?.do === "deleteProvider");
  assert.equal(step.inForeground, true);
});

test("the finalizer stays while the upstream lives, also while it is being deleted", () => {
  const consumer = consumerWidget({}, deleting);
  const alive = plan({ consumer, provider: providerWidget({}) });
  assert.deepEqual(kinds(alive.steps), ["deleteProvider"]);
  assert.equal(alive.waiting, "providerDeletion");
  const dying = plan({ consumer, provider: providerWidget({}, deleting) });
  assert.deepEqual(dying, { steps: [], waiting: "providerDeletion" });
  const gone = plan({ consumer });
  assert.deepEqual(gone.steps, [
    {
      do: "removeFinalizer",
      ref: { namespace: "app", name: "w" },
      uid: "consumer-uid",
      confirmGone: [{ namespace: "cluster-a-app", name: "w" }],
    },
  ]);
});

test("nothing is written into a dying upstream object of the same name, but its status is still copied to the claim", () => {
  const provider = { ...providerWidget({ a: 0 }, deleting), status: { phase: "Deleting" } };
  const { steps, waiting } = plan({ consumer: consumerWidget({ a: 1 }), provider });
  assert.deepEqual(kinds(steps), ["writeStatus"]);
  assert.equal(waiting, "providerReplacement");
});

test("a claim without a mapping is released at once when it is deleted, one with a pending mapping waits", () => {
  const consumer = consumerWidget({}, deleting);
  assert.deepEqual(kinds(plan({ consumer, mapping: { state: "missing" } }).steps), ["removeFinalizer"]);
  assert.equal(plan({ consumer, mapping: { state: "pending" } }).waiting, "mapping");
});

test("an upstream object that is not ours survives the deletion of a claim of its name", () => {
  const provider = providerWidget({}, { annotations: {} });
  const [step, ...rest] = plan({ consumer: consumerWidget({}, deleting), provider }).steps;
  assert.equal(step?.do, "removeFinalizer");
  assert.deepEqual(rest, []);
});

test("an upstream object without claim is never deleted by the plan itself", () => {
  assert.deepEqual(plan({ provider: providerWidget({}) }), { steps: [], waiting: "orphanConfirmation" });
});

test("adoption creates the consumer's object without the provider's owners and finalizers", () => {
  const provider = {
    ...providerWidget(
      { a: 1 },
      {
        annotations: { team: "x", note: "y" },
        finalizers: ["provider/hold"],
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }],
      },
    ),
    status: { phase: "Up" },
  };
  const { steps } = plan({ provider });
  assert.deepEqual(steps, [
    {
      do: "createConsumer",
      content: {
        apiVersion: "example.org/v1",
        kind: "Widget",
        metadata: {
          namespace: "app",
          name: "w",
          annotations: {
            team: "x",
            [boundAnnotation]: "true",
            [adoptedAnnotation]: "true",
            [restoredAnnotation]: "true",
          },
          finalizers: ["klutch.anynines.com/syncer"],
        },
        spec: { a: 1 },
      },
    },
  ]);
});

test('only the value "true" counts as bound', () => {
  for (const value of ["false", "", "yes"]) {
    assert.equal(isBound(providerWidget({}, { annotations: { [boundAnnotation]: value } })), false);
  }
  assert.equal(isBound(providerWidget({})), true);
});

test("status is written only when it differs, and stays when a recreated upstream has none yet", () => {
  const consumer = { ...consumerWidget({ a: 1 }), status: { phase: "Up" } };
  const same = { ...providerWidget({ a: 1 }), status: { phase: "Up" } };
  assert.deepEqual(plan({ consumer, provider: same }), { steps: [] });
  assert.deepEqual(plan({ consumer, provider: providerWidget({ a: 1 }) }), { steps: [] });
  const other = { ...same, status: { phase: "Down" } };
  assert.deepEqual(kinds(plan({ consumer, provider: other }).steps), ["writeStatus"]);
});

test("a status that the consumer's schema prunes is written once, not in every reconcile", () => {
  const provider = { ...providerWidget({ a: 1 }), status: { phase: "Up", unknown: 1 } };
  const consumer = { ...consumerWidget({ a: 1 }), status: { phase: "Up" } };
  const lastWrittenStatus = recordOf(provider.status, consumer.status);
  assert.deepEqual(plan({ consumer, provider, lastWrittenStatus }), { steps: [] });
});

test("a value that a webhook on the provider rewrites is applied once, not in every reconcile", () => {
  const consumer = consumerWidget({ size: "1024Mi" });
  const provider = providerWidget({ size: "1Gi" });
  const [step] = plan({ consumer, provider }).steps;
  assert.ok(step?.do === "applyProvider");
  const applied = recordOf(step.content, appliedPart(provider));
  assert.deepEqual(plan({ consumer, provider, applied }), { steps: [] });
  const edited = plan({ consumer: consumerWidget({ size: "2Gi" }), provider, applied });
  assert.deepEqual(kinds(edited.steps), ["applyProvider"]);
});

test("a cluster-scoped upstream of another tenant is never touched, whatever its name", () => {
  const ref = { name: "w" };
  const metadata = { namespace: undefined, name: "cluster-a-w" };
  const consumer = consumerWidget({ a: 1 }, { namespace: undefined });
  const foreign = providerWidget({}, metadata);
  assert.deepEqual(plan({ ref, consumer, provider: foreign }), { steps: [], waiting: "foreignObject" });
  assert.deepEqual(plan({ ref, provider: foreign }), { steps: [] });
  const dying = plan({
    ref,
    consumer: { ...consumer, metadata: { ...consumer.metadata, ...deleting } },
    provider: foreign,
  });
  assert.deepEqual(kinds(dying.steps), ["removeFinalizer"]);
  const [step] = plan({ ref, consumer }).steps;
  assert.ok(step?.do === "applyProvider");
  assert.equal(step.content.metadata.name, "cluster-a-w");
  assert.equal(step.content.metadata.annotations?.[clusterNamespaceAnnotation], "cluster-a");
});

/** Returns the object after the server's apply: the wanted fields replace ours, others' stay. */
function applied(
  content: DynamicObject,
  before: DynamicObject | undefined,
  others: Record<string, unknown>,
): DynamicObject {
  const spec = { ...others, ...(content.spec as object) };
  return {
    ...content,
    metadata: {
      ...content.metadata,
      uid: before?.metadata.uid ?? "new",
      resourceVersion: "99",
      managedFields: [
        appliedBy(fieldManager, "Apply", fieldsOf({ metadata: content.metadata, spec: content.spec })),
        appliedBy("other", "Update", fieldsOf({ spec: others })),
      ],
    },
    spec,
    ...(before?.status === undefined ? {} : { status: before.status }),
  };
}

const json = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.jsonValue({ maxDepth: 2 }));

test("carrying a plan out and asking again gives the empty plan", () => {
  fc.assert(
    fc.property(json, json, json, fc.option(fc.jsonValue()), (spec, oldSpec, others, status) => {
      const consumer = consumerWidget(spec, { labels: { team: "x" } });
      const started = { ...providerWidget(oldSpec), ...(status === null ? {} : { status }) };
      const foreign = Object.fromEntries(
        Object.entries(others).map(([key, value]) => [`other-${key}`, value]),
      );
      let after = { consumer, provider: started as DynamicObject };
      for (const step of plan(after).steps) {
        if (step.do === "applyProvider") {
          after = { ...after, provider: reduceManagedFields(applied(step.content, after.provider, foreign)) };
          const [answered] = planAnswered(observed(after), after.provider);
          if (answered?.do === "writeStatus")
            after = { ...after, consumer: { ...after.consumer, status: answered.status } };
        } else if (step.do === "writeStatus") {
          after = { ...after, consumer: { ...after.consumer, status: step.status } };
        } else {
          assert.fail(step.do);
        }
      }
      assert.deepEqual(plan(after), { steps: [] });
    }),
  );
});
