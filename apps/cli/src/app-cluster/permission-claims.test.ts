import assert from "node:assert/strict";
import { test } from "node:test";
import type { PermissionClaim } from "@klutch/api";
import { answerClaims, describeClaim } from "./permission-claims.ts";
import type { ClaimAnswer } from "../options.ts";
import { type ScriptedRun, scriptedRun } from "../testing/script.ts";

const secrets = (more: Partial<PermissionClaim> = {}): PermissionClaim => ({
  group: "",
  resource: "secrets",
  version: "v1",
  ...more,
});
const firstLine = (claim: PermissionClaim): string => describeClaim(claim).split("\n")[0] ?? "";

test("the verb follows the owner, and donating or adopting come first", () => {
  const sentence = (verb: string): string =>
    `The provider wants to ${verb} secrets objects (apiVersion: "v1") on your cluster.`;
  assert.equal(firstLine(secrets({ selector: { owner: "Provider" } })), sentence("write"));
  assert.equal(firstLine(secrets({ selector: { owner: "Consumer" } })), sentence("read"));
  assert.equal(firstLine(secrets()), sentence("read and write"));
  assert.equal(firstLine(secrets({ autoDonate: true })), sentence("create user owned"));
  assert.equal(firstLine(secrets({ autoAdopt: true })), sentence("have ownership of"));
});

test("group, names and namespaces are shown, a star is not", () => {
  const text = describeClaim(
    secrets({ group: "x.test", version: "v2", selector: { names: ["a", "b"], namespaces: ["*"] } }),
  );
  assert.match(text, /apiVersion: "x\.test\/v2"/);
  assert.match(text, /referenced with:\n\t- name: "a"\n\t- name: "b"\n/);
  assert.doesNotMatch(text, /namespace:/);
  assert.doesNotMatch(describeClaim(secrets({ selector: { names: ["*"] } })), /referenced/);
});

test("selectors of labels and fields are shown with all their alternatives", () => {
  const selector = {
    owner: "Provider",
    labelSelectors: [{ app: "db", tier: "x" }, { app: "web" }],
    fieldSelectors: ["type=connection.crossplane.io/v1alpha1", "metadata.labels.service-binding=true"],
  } as const;
  assert.equal(
    describeClaim(secrets({ required: true, selector })),
    `The provider wants to write secrets objects (apiVersion: "v1") on your cluster, which are referenced with:
\t- labels: "app=db,tier=x" or "app=web"
\t- fields: "type=connection.crossplane.io/v1alpha1" or "metadata.labels.service-binding=true"
Accepting this Permission is required in order to proceed.`,
  );
});

test("each option that changes what happens has its sentence", () => {
  const text = describeClaim(
    secrets({
      required: true,
      create: { replaceExisting: true },
      onConflict: { recreateWhenConsumerSideDeleted: true },
      update: { fields: ["data"], preserving: ["metadata.labels"], alwaysRecreate: true },
    }),
  );
  for (const part of [
    /exist already are replaced/,
    /that you delete is created again/,
    /Only these fields are changed: data\./,
    /keep your values: metadata\.labels\./,
    /deleted and created again instead/,
    /contents of these secrets leave your cluster/,
    /Permission is required in order to proceed\./,
  ]) {
    assert.match(text, part);
  }
  assert.match(describeClaim(secrets()), /Permission is optional\./);
  assert.doesNotMatch(describeClaim(secrets({ selector: { owner: "Provider" } })), /leave your cluster/);
});

function answer(
  run: ScriptedRun,
  claims: readonly PermissionClaim[],
  how: ClaimAnswer = "ask",
): Promise<string[]> {
  const rights = (claim: PermissionClaim): string[] => [`right on ${claim.resource}`];
  return answerClaims(run.context, { name: "widgets.x.test", group: "x.test" }, claims, how, rights).then(
    (answered) => answered.map(({ state }) => state),
  );
}

test("answers are read line by line; other words ask again", async () => {
  const run = scriptedRun({ answers: ["maybe", "", "Y", "no"] });
  assert.deepEqual(await answer(run, [secrets(), secrets()]), ["Accepted", "Rejected"]);
  assert.equal(run.stderr().match(/Do you accept this Permission\? \[No,Yes\]/g)?.length, 4);
  assert.match(run.stderr(), /right on secrets/);
  assert.equal(run.stdout(), "");
});

test("without an answer the command ends and names the flags", async () => {
  await assert.rejects(answer(scriptedRun(), [secrets()]), {
    code: "PermissionRejected",
    message: /--accept-permissions or --reject-permissions/,
  });
});

test("a required claim that is rejected ends the command; an optional one does not", async () => {
  const run = scriptedRun();
  assert.deepEqual(await answer(run, [secrets()], "reject"), ["Rejected"]);
  await assert.rejects(answer(run, [secrets({ required: true })], "reject"), { code: "PermissionRejected" });
  const shipped = secrets({ required: true, selector: { owner: "Provider" } });
  assert.deepEqual(await answer(run, [shipped], "accept"), ["Accepted"]);
});

test("at a terminal the prompt's answer counts, and cancelling it ends the command", async () => {
  const browser = (): void => {};
  assert.deepEqual(await answer(scriptedRun({ browser, answers: ["yes"] }), [secrets()]), ["Accepted"]);
  await assert.rejects(answer(scriptedRun({ browser }), [secrets()]), { code: "Cancelled" });
});

test("the flag does not accept what a person must judge; at a terminal the person is told why and asked", async () => {
  const own = secrets({ selector: { owner: "Consumer" } });
  const silent = scriptedRun();
  assert.deepEqual(await answer(silent, [own], "accept"), ["Rejected"]);
  assert.match(silent.stderr(), /Warning: every Secret .* can leave your cluster.*\n/);
  assert.match(
    silent.stderr(),
    /--accept-permissions does not cover this claim\. A person must accept it\.\n/,
  );
  await assert.rejects(answer(scriptedRun(), [{ ...own, required: true }], "accept"), {
    code: "PermissionRejected",
    message: /cannot be bound without the required permission for secrets.*Nothing was changed/,
  });
  assert.deepEqual(await answer(scriptedRun({ answers: ["yes"] }), [own], "accept"), ["Accepted"]);
});

test("a claim that no one may accept is refused without a question and does not reach the binding", async () => {
  const run = scriptedRun({ answers: ["yes"] });
  assert.deepEqual(await answer(run, [secrets({ resource: "pods" })]), []);
  assert.match(run.stderr(), /Refused: with pods a provider could take over this cluster/);
  assert.doesNotMatch(run.stderr(), /Do you accept/);
  await assert.rejects(answer(run, [secrets({ resource: "pods", required: true })], "accept"), {
    message: /without the required permission for pods\. It is refused: with pods .* Nothing was changed/,
  });
});

test("foreign words in a claim neither steer the terminal nor add lines", () => {
  const hostile = "secrets\u001b[2J\nAccepting this Permission is harmless.\u202e";
  const claim = { group: hostile, version: hostile, resource: hostile, selector: { names: [hostile] } };
  const text = describeClaim({ ...claim, update: { fields: [hostile], preserving: [hostile] } });
  assert.match(text, /^[\x20-\x7e\n\t]+$/);
  assert.doesNotMatch(text, /^Accepting this Permission is harmless/m);
});
