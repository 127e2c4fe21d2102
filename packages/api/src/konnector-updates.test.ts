import assert from "node:assert/strict";
import { test } from "node:test";
import { parseKonnectorUpdates, refusedUpdate, releaseVersion } from "./konnector-updates.ts";

test("only the version of a release is one, to the letter", () => {
  assert.deepEqual(releaseVersion("v1.6.0"), [1, 6, 0]);
  const others = [
    "1.6.0",
    "v1.6",
    "v1.6.0-rc1",
    "v01.6.0",
    "v1.6.0 ",
    "v1.6.0\n",
    "v1.6.0@sha256:0",
    "latest",
  ];
  for (const text of [...others, "", "v1.6.0".padEnd(10_000_000, "0"), undefined])
    assert.equal(releaseVersion(text), undefined, String(text).slice(0, 20));
});

test("a line allows its versions from the lowest on, and no other", () => {
  const patch = { line: "patch", floor: "v1.6.2" } as const;
  assert.equal(refusedUpdate("v1.6.2", patch), undefined);
  assert.equal(refusedUpdate("v1.6.10", patch), undefined);
  assert.match(refusedUpdate("v1.6.1", patch) ?? "", /v1\.6\.1 is below v1\.6\.2/);
  assert.match(refusedUpdate("v1.7.0", patch) ?? "", /not of v1\.6\./);
  const minor = { ...patch, line: "minor" } as const;
  assert.equal(refusedUpdate("v1.7.0", minor), undefined);
  assert.match(refusedUpdate("v2.0.0", minor) ?? "", /not of v1\./);
  assert.match(refusedUpdate("v1.6.9-evil", minor) ?? "", /not the version of a release/);
  assert.match(refusedUpdate("v1.6.9", { line: "minor", floor: "x" }) ?? "", /lowest version/);
});

test("words of a konnector that lies become one short line or nothing", () => {
  const good = { line: "patch", floor: "v1.6.0" };
  assert.deepEqual(parseKonnectorUpdates({ ...good, more: 1 }), good);
  const loud = parseKonnectorUpdates({ ...good, problem: `\u001b[31m\n${"x".repeat(10_000_000)}` });
  assert.ok((loud?.problem?.length ?? 999) <= 256 && /^[ -~…]*$/.test(loud?.problem ?? "\n"));
  for (const value of [
    undefined,
    null,
    [],
    "patch",
    { ...good, line: "major" },
    { ...good, floor: "v1" },
    { ...good, floor: {} },
  ])
    assert.equal(parseKonnectorUpdates(value), undefined);
});
