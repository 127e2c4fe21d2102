import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { generations } from "../generation.ts";
import { xrdsOf } from "../xrds.ts";
import { healthRulesOf } from "./health-rules.ts";

const page = readFileSync(
  join(import.meta.dirname, "..", "..", "..", "..", "docs", "reference", "conditions.md"),
  "utf8",
);

/** Reasons of a claim's condition, as the page lists them. */
function documented(type: string): readonly string[] {
  const row = page.split("\n").find((line) => line.startsWith(`| \`klutch.anynines.com/${type}\` |`)) ?? "";
  return [...row.slice(row.indexOf("|", 1)).matchAll(/`(\w+)`/g)].map(([, reason = ""]) => reason);
}

/** State that passes without a person, or is unknown. */
const waiting = [
  "BrokerUnreachable",
  "Changing",
  "Creating",
  "Deleting",
  "Unavailable",
  "WaitingForBackup",
  "WaitingForInstance",
  "WaitingForRestore",
];

/** Reasons of `Ready` that the konnector gives instead of the provider's. */
const fromKonnector = ["CreationHeld", "DeletionHeld", "NameTaken", "SecretTypeRefused", "TooManyObjects"];

test("every reason of a claim that is not ready has a meaning for GitOps tools, and no other has", () => {
  for (const rules of generations.flatMap(xrdsOf).map(healthRulesOf)) {
    const known = [...rules.failed, ...rules.over, ...waiting, "Available", "Paused"];
    const expected = [...documented("Ready"), ...documented("Composed"), ...fromKonnector];
    assert.deepEqual(known.toSorted(), expected.toSorted(), rules.kind);
    assert.ok(rules.paused.includes("Paused"));
  }
});

test("every reason for which a claim is out of sync fails it, unless it continues automatically or waits for a person", () => {
  for (const { outOfSync, kind } of generations.flatMap(xrdsOf).map(healthRulesOf)) {
    const known = [...outOfSync, "BrokerUnreachable", "Paused", "ReconcileSuccess", "RotationIncomplete"];
    assert.deepEqual(known.toSorted(), documented("Synced").toSorted(), kind);
  }
});
