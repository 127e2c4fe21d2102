import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateHostile } from "./simulate-hostile.ts";

const flags = "--hostile --keep-exports";
const runs = [
  { seed: 1, withExports: true },
  /** A creation whose answer was lost took no place, so one copy too many was made. */
  { seed: 1101, withExports: false },
  /** The second try of such a creation was refused because the copy was there, and its place was given away. */
  { seed: 3058, withExports: false },
];

for (const { seed, withExports } of runs) {
  const how = withExports ? "and its exports change" : "and its exports stay";
  test(`seed ${seed}: a hostile provider gets nothing and writes nothing outside of bound kinds and claims, ${how}`, async () => {
    const { broken } = await simulateHostile(seed, { withExports });
    const replay = `npm run faults -- ${withExports ? "--hostile" : flags} --seed ${seed} --story`;
    assert.deepEqual(broken, [], `replay with: ${replay}`);
  });
}
