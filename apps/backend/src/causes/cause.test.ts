import assert from "node:assert/strict";
import { test } from "node:test";
import type { APIServiceExport } from "@klutch/api";
import type { DynamicObject, KubeObject } from "@klutch/kube-core";
import { causeOf, compositeOf } from "./cause.ts";
import { claimKinds } from "./kinds.ts";

const created = "2026-01-01T00:00:00Z";
const start = Date.parse(created);

const composite = (message?: string, status = "False", more: object = {}): DynamicObject => ({
  apiVersion: "anynines.com/v1",
  kind: "XPostgresqlInstance",
  metadata: { name: "one-x7", creationTimestamp: created, ...more },
  spec: { claimRef: { namespace: "cluster-a-demo", name: "one" } },
  ...(message === undefined
    ? {}
    : {
        status: {
          conditions: [
            { type: "Synced", status, reason: "ReconcileError", message, lastTransitionTime: created },
          ],
        },
      }),
});
const said = (object: DynamicObject, afterMs = 20_000): string | undefined =>
  causeOf(compositeOf(object), start + afterMs).message;

test("the claim of a composite is known, and a composite without one has no claim", () => {
  assert.equal(compositeOf(composite()).claim, "cluster-a-demo/one");
  assert.equal(compositeOf({ ...composite(), spec: {} }).claim, undefined);
});

for (const [what, message, words] of [
  [
    "a kind that is missing",
    'cannot compose resources: cannot get existing composed resources: cannot get composed resource: no matches for kind "Object" in version "kubernetes.crossplane.io/v1alpha2"',
    /^The platform cannot make this: its control plane does not have the kind Object \(kubernetes\.crossplane\.io\/v1alpha2\), so a provider is missing there\. Ask the platform team$/,
  ],
  [
    "a Composition that is not there",
    'cannot fetch Composition: cannot get Composition: Composition.apiextensions.crossplane.io "nope" not found',
    /no Composition fits.*compositionRef.*"nope" not found/,
  ],
  [
    "a right that is missing",
    'cannot compose resources: widgets.example.org is forbidden: User "system:serviceaccount:crossplane-system:crossplane" cannot create resource "widgets" in API group "example.org" in the namespace "crossplane-system"',
    /Crossplane lacks rights there\. Ask the platform team\. Crossplane says: .*widgets\.example\.org is forbidden: User of Crossplane cannot create resource "widgets" in API group "example\.org"$/,
  ],
  [
    "a function that fails",
    'cannot compose resources: pipeline step "compose" returned a fatal result: no',
    /^The platform cannot make this at present: step compose of its Composition failed\. It is tried again.*pipeline step "compose" returned a fatal result: no$/,
  ],
  [
    "a function that is not installed",
    'cannot compose resources: cannot run Composition pipeline step "make": cannot get gRPC client connection for Function "function-absent": cannot find an active FunctionRevision (a FunctionRevision with spec.desiredState: Active)',
    /^The platform cannot make this: the function function-absent of step make is not installed there, or not healthy\. Ask the platform team$/,
  ],
  [
    "a function that does not answer, without the address",
    'cannot compose resources: cannot run Composition pipeline step "make": rpc error: code = Unavailable desc = dial tcp: lookup function-x.crossplane-system on 10.96.0.10:53: no such host',
    /step make of its Composition failed\..* dial tcp: lookup of its address: no such host$/,
  ],
  [
    "an error of another kind",
    "cannot apply composite: boom",
    /at present\. Crossplane tries again; if it lasts, ask the platform team\. Crossplane says: cannot apply composite: boom$/,
  ],
] as const) {
  test(`the words say what to do about ${what}`, () => assert.match(said(composite(message)) ?? "-", words));
}

test("words of strangers are one bounded line", () => {
  const words = said(composite(`line\n\u001b[31m${"x".repeat(5_000)}`)) ?? "";
  assert.ok(words.length < 1_024, `${words.length}`);
  assert.ok(!words.includes("\n") && !words.includes("\u001b"), words);
});

test("a failure that passes soon is no news, and neither is a composite that is deleted or well", () => {
  assert.deepEqual(causeOf(compositeOf(composite("no")), start + 4_000), {
    message: undefined,
    againInMs: 7_000,
  });
  assert.equal(said(composite("", "True")), undefined);
  assert.equal(said(composite("no", "False", { deletionTimestamp: created })), undefined);
});

test("a composite about which Crossplane says nothing for a minute is news", () => {
  assert.deepEqual(causeOf(compositeOf(composite()), start + 20_000), {
    message: undefined,
    againInMs: 41_000,
  });
  assert.match(
    said(composite(), 60_000) ?? "-",
    /^Crossplane has not worked on this since it was created: it does not run, or it lacks rights/,
  );
});

test("a composite that a person paused says so", () => {
  const paused = composite("");
  const conditions = [
    { type: "Synced", status: "False", reason: "ReconcilePaused", lastTransitionTime: created },
  ];
  assert.match(
    said({ ...paused, status: { conditions } }) ?? "-",
    /^The platform has paused this, by the annotation crossplane\.io\/paused of its composite\. Ask the platform team$/,
  );
});

const crd = (plural: string, scope: string, definition: string): KubeObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: `${plural}.anynines.com`,
    ownerReferences: [
      {
        apiVersion: "apiextensions.crossplane.io/v1",
        kind: "CompositeResourceDefinition",
        name: definition,
        uid: definition,
      },
    ],
  },
  spec: {
    group: "anynines.com",
    scope,
    names: { plural, kind: plural.toUpperCase() },
    versions: [{ name: "v1", served: true, storage: true }],
  },
  status: { conditions: [{ type: "Established", status: "True" }] },
});
const exported = (name: string): APIServiceExport => ({ metadata: { name } }) as APIServiceExport;

test("claims that are bound are watched with their composites, and nothing else is", () => {
  const crds = [
    crd("pgs", "Namespaced", "xpgs"),
    crd("xpgs", "Cluster", "xpgs"),
    crd("others", "Namespaced", "xothers"),
    crd("xothers", "Cluster", "xothers"),
    crd("namespaced", "Namespaced", "namespaced"),
    crd("early", "Namespaced", "xearly"),
    { ...crd("xearly", "Cluster", "xearly"), status: {} },
    { ...crd("plain", "Namespaced", "x"), metadata: { name: "plain.anynines.com" } },
  ];
  const exports = ["pgs", "namespaced", "plain", "gone", "early"].map((name) =>
    exported(`${name}.anynines.com`),
  );
  const kinds = claimKinds(exports, crds);
  assert.deepEqual([...kinds.keys()], ["pgs.anynines.com"]);
  const found = kinds.get("pgs.anynines.com");
  assert.deepEqual(
    [found?.claim.plural, found?.composite.plural, found?.composite.namespaced],
    ["pgs", "xpgs", false],
  );
});
