import assert from "node:assert/strict";
import { test } from "node:test";
import { deadPaths, missingRooms, wrongParts } from "./architecture.ts";

const rules = {
  "packages/a": { parts: ["b"], thirdParty: ["undici"] },
  "packages/b": { parts: [], thirdParty: [] },
  tools: { parts: ["a", "b"], thirdParty: [] },
};
const table = ["| folder | what | may import |", "|---|---|---|", "| `packages/b` | basics | – |"];

test("a part without a row is named, and one whose row allows something else too", () => {
  const good = [...table, "| `packages/a` | uses b | b, undici |"].join("\n");
  assert.deepEqual(wrongParts(good, rules), []);
  assert.match(wrongParts(table.join("\n"), rules).join(), /no row for packages\/a/);
  const wrong = [...table, "| `packages/a` | uses nothing | – |"].join("\n");
  assert.match(wrongParts(wrong, rules).join(), /row of packages\/a names "–"; its imports are b, undici/);
});

test("a room that no table names is missing, and a mention in the text does not help", () => {
  const rule = { folder: "apps/x/src", rooms: [["main.ts"], ["upper/"], ["./", "lower/"]] };
  assert.deepEqual(missingRooms("| `upper/`, `lower/` | both |", rule), []);
  assert.deepEqual(missingRooms("In `upper/` is much.\n| `lower/` | less |", rule), [
    "docs/architecture.md: no table names upper/ of apps/x/src",
  ]);
});

test("a path that is gone is found; patterns and words of other kinds are none", () => {
  const text = "`packages/a/x.ts` and `packages/b/gone.ts`, `apps/*/main.ts`, `spec.names`, `kubectl bind`";
  assert.deepEqual(
    deadPaths(text, (path) => path === "packages/a/x.ts"),
    ["docs/architecture.md: packages/b/gone.ts does not exist"],
  );
});
