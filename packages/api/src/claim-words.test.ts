import assert from "node:assert/strict";
import { test } from "node:test";
import { claimDetails, claimedObjects } from "./claim-words.ts";
import type { PermissionClaim } from "./kinds/permission-claim.ts";

test("each selector is shown as it is written", () => {
  const names = ["a", "b"];
  const namespaces = ["n"];
  const fieldSelectors = ["type=Opaque,metadata.name!=x", "metadata.labels.service-binding=true"];
  const labelSelectors = [{ app: "db", tier: "x" }, { app: "web" }];
  assert.deepEqual(claimedObjects({ names, namespaces, labelSelectors, fieldSelectors }), {
    names,
    namespaces,
    labels: ["app=db,tier=x", "app=web"],
    fields: fieldSelectors,
  });
});

test("what restricts nothing is left out: no selector, a star, labels that any object has", () => {
  const nothing = { names: [], namespaces: [], labels: [], fields: [] };
  assert.deepEqual(claimedObjects(undefined), nothing);
  const names = ["a", "*"];
  assert.deepEqual(
    claimedObjects({ names, namespaces: names, labelSelectors: [{ app: "db" }, {}] }),
    nothing,
  );
});

test("foreign words add no lines and no colours", () => {
  const hostile = "a\u001b[2J\nb\u202e";
  const list = [hostile];
  const { names, namespaces, labels, fields } = claimedObjects({
    names: list,
    namespaces: list,
    labelSelectors: [{ [hostile]: hostile }],
    fieldSelectors: list,
  });
  for (const text of [names, namespaces, labels, fields].flat()) assert.match(text, /^[\x20-\x7e]+$/);
});

const secrets = (more: Partial<PermissionClaim>): PermissionClaim => ({
  resource: "secrets",
  version: "v1",
  ...more,
});
const keys = (...patterns: readonly string[]): readonly { readonly pattern: string }[] =>
  patterns.map((pattern) => ({ pattern }));

test("each list of labels and annotations has its sentence, with its patterns", () => {
  const claim = secrets({
    read: {
      labels: keys("a"),
      annotations: keys("b/*"),
      labelsOnProviderOwnedObjects: keys("c"),
      overrideAnnotations: keys("d"),
    },
    update: {
      labels: keys("e", "*"),
      annotations: keys("f"),
      labelsOnConsumerOwnedObjects: keys("g"),
      annotationsOnConsumerOwnedObjects: keys("h"),
      fields: ["spec.size"],
    },
  });
  assert.deepEqual(claimDetails(claim), [
    "Only these fields are changed: spec.size.",
    "The provider may change these fields of your objects: spec.size.",
    "These labels of the provider's objects come to your cluster: e, *.",
    "These annotations of the provider's objects come to your cluster: f.",
    "These labels of your objects go to the provider: a.",
    "These annotations of your objects go to the provider: b/*.",
    "The provider may set these labels of your objects: g.",
    "The provider may set these annotations of your objects: h.",
    "Labels that you set on copies of the provider's objects go to the provider: c.",
    "Annotations that you set on copies of the provider's objects go to the provider: d.",
    "The contents of these secrets leave your cluster.",
  ]);
});

test("what the owner rules out has no sentence, and the labels that leave without a pattern have one", () => {
  assert.deepEqual(claimDetails(secrets({ selector: { owner: "Provider" } })), []);
  const own = claimDetails(secrets({ selector: { owner: "Consumer" }, update: { labels: keys("e") } }));
  assert.deepEqual(own, [
    "The labels of your objects go to the provider, except those of Klutch and kubectl.",
    "The annotations of your objects go to the provider, except those of Klutch and kubectl.",
    "The contents of these secrets leave your cluster.",
  ]);
});

test("of a list that a person would not read, the first ten and the number of the others are shown", () => {
  const names = Array.from({ length: 5_000 }, (_, at) => `guess-${at}`);
  const shown = claimedObjects({ names });
  assert.equal(shown.names.length, 11);
  assert.equal(shown.names.at(-1), "4990 more");
});
