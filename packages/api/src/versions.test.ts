import assert from "node:assert/strict";
import { test } from "node:test";
import { klutchVersion, providerVersionProblem } from "./versions.ts";

const verdicts: readonly (readonly [string, RegExp | undefined])[] = [
  ["", /is not a semantic version/],
  ["latest", /is not a semantic version/],
  ["v0.2.3", /older than v0\.3\.0/],
  ["v0.0.1", /older than v0\.3\.0/],
  ["v0.0.0", undefined],
  ["v0.0.0-master+$Format:%H$", undefined],
  ["v0.3.0", undefined],
  ["v0.3.5", undefined],
  ["v1.2.5", undefined],
  [klutchVersion, undefined],
];
for (const [version, problem] of verdicts) {
  test(`a provider of version ${JSON.stringify(version)} is ${problem === undefined ? "accepted" : "refused"}`, () => {
    const answer = providerVersionProblem(version);
    if (problem === undefined) assert.equal(answer, undefined);
    else assert.match(answer ?? "", problem);
  });
}
