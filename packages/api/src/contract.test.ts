import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bindCrds, providerCrds } from "./crds.ts";
import { describeCrd } from "./testing/describe-crd.ts";

/** The wire contract, kept by hand; no command writes it. Its head says what differs from the Go implementation on purpose. */
const contract = readFileSync(join(import.meta.dirname, "..", "contract.txt"), "utf8");
const sections = contract
  .split(/^(?=## )/m)
  .slice(1)
  .map((section) => section.trimEnd());

for (const crd of [...bindCrds, ...providerCrds]) {
  const text = describeCrd(crd);
  const [, kind = ""] = text.split(" ");
  test(`every field, default, enumeration, rule and column of ${kind} (${crd.metadata.name}) is as the contract says`, () => {
    const own = sections.find((section) => section.startsWith(text.split("\n")[0] ?? "-"));
    assert.deepEqual(text.split("\n"), own?.split("\n"));
  });
}

test("the contract has no kind that is not printed", () => {
  assert.equal(sections.length, bindCrds.length + providerCrds.length);
});
