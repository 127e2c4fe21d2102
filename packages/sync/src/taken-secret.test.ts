import assert from "node:assert/strict";
import { test } from "node:test";
import { recordsAt } from "@klutch/kube-core";
import { projectStatus } from "./status-projection.ts";
import { plainView } from "./status-view.ts";
import { credentialsSecretOf, missingSecretWords, saidSecretReason } from "./taken-secret.ts";
import { before, claimOf, fullView, providerOf, ready, type Side } from "./testing/statuses.ts";

const now = Date.parse("2026-05-05T05:05:05Z");
const missingSecret = { name: "one-creds", reason: "NameTaken" } as const;
const shownBy = (claim: Side, provider: Side, view = fullView): unknown =>
  projectStatus({ view, claim, provider, notSent: undefined, missingSecret, now });
const available = { observedGeneration: 1, conditions: [ready("True"), { type: "Synced", status: "True" }] };
const taken = {
  type: "Ready",
  status: "False",
  reason: "NameTaken",
  message:
    "Secret one-creds exists and is not Klutch's, so the credentials are not in it. Rename or delete it.",
  lastTransitionTime: "2026-05-05T05:05:05Z",
  observedGeneration: 1,
};

test("Ready True becomes False with the name of the Secret and what to do; everything else is the provider's", () => {
  const shown = shownBy(claimOf(1), providerOf(1, available));
  assert.deepEqual(recordsAt(shown, "conditions"), [
    taken,
    { type: "Synced", status: "True", observedGeneration: 1 },
  ]);
  assert.equal(saidSecretReason({ status: shown }), "NameTaken");
});

test("a status that was shown once is shown again: the time stays", () => {
  const first = shownBy(claimOf(1), providerOf(1, available));
  const again = projectStatus({
    view: fullView,
    claim: claimOf(1, first),
    provider: providerOf(1, available),
    notSent: undefined,
    missingSecret,
    now: now + 60_000,
  });
  assert.deepEqual(again, first);
});

test("a claim that its provider does not call ready keeps the provider's reason", () => {
  const status = { observedGeneration: 1, conditions: [ready("False")] };
  const shown = shownBy(claimOf(1), providerOf(1, status));
  assert.equal(recordsAt(shown, "conditions")[0]?.["reason"], "Creating");
});

test("the status of a claim that is being deleted does not change for it", () => {
  const status = { observedGeneration: 1, conditions: [{ ...taken, lastTransitionTime: before }] };
  const claim = claimOf(1, status, { deletionTimestamp: before });
  assert.deepEqual(
    shownBy(claim, providerOf(1, { observedGeneration: 1, conditions: [ready("True")] })),
    status,
  );
});

test("only fields that the schema has are written, and where it has no such condition nothing is", () => {
  const few = { ...fullView, conditions: ["reason"] as const };
  const condition = { type: "Ready", status: "True", reason: "Available" };
  const shown = shownBy(claimOf(1), providerOf(1, { observedGeneration: 1, conditions: [condition] }), few);
  assert.deepEqual(recordsAt(shown, "conditions"), [{ type: "Ready", status: "False", reason: "NameTaken" }]);
  const none = { ...fullView, mayBeUnknown: false };
  const kept = shownBy(claimOf(1), providerOf(1, available), none);
  assert.equal(recordsAt(kept, "conditions")[0]?.["status"], "True");
});

test("where the export names a field, only that one names the Secret", () => {
  const object = { spec: { secretName: "tls" }, status: { managed: { credentials: { name: "creds" } } } };
  assert.equal(credentialsSecretOf(object, plainView), "creds");
  assert.equal(credentialsSecretOf(object, { secretNameField: "spec.secretName" }), "tls");
  for (const secretNameField of ["spec.other", "spec.secretName.more", "status.managed.credentials"])
    assert.equal(credentialsSecretOf(object, { secretNameField }), undefined, secretNameField);
  for (const wrong of ["../tls", "a/b", "", 7, ["tls"]])
    assert.equal(
      credentialsSecretOf({ spec: { secretName: wrong } }, { secretNameField: "spec.secretName" }),
      undefined,
    );
});

test("a name that no Secret can have names none", () => {
  const named = (name: unknown): string | undefined =>
    credentialsSecretOf({ status: { managed: { credentials: { name } } } }, plainView);
  assert.equal(named("one-creds"), "one-creds");
  for (const wrong of ["", "a/b", "A", "a\u001b[2J", "x".repeat(254), 7, null, {}])
    assert.equal(named(wrong), undefined);
  assert.equal(credentialsSecretOf({ status: "text" }, plainView), undefined);
  assert.ok(missingSecretWords({ name: "x".repeat(253), reason: "TooManyObjects" }).length < 1_024);
});
