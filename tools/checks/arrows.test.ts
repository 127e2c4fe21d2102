import assert from "node:assert/strict";
import { test } from "node:test";
import { violation } from "./arrow-check.ts";
import { importsOf } from "./arrows.ts";

test("the arrow check sees static, side-effect, dynamic and re-exporting imports", () => {
  const text = [
    'import { a } from "one";',
    'import type { b } from "two";',
    'export * from "three";',
    'import "four";',
    // In two pieces, so that this file does not seem to import it.
    `const c = await ${"import"}("five");`,
    'import {\n  d,\n} from "six";',
  ].join("\n");
  assert.deepEqual(importsOf(text).toSorted(), ["five", "four", "one", "six", "three", "two"]);
});

test("the arrow check refuses an app that imports an app, a foreign owner's library and a relative escape", () => {
  assert.match(
    violation("apps/cli/src/main.ts", "@klutch/konnector") ?? "",
    /may not import @klutch\/konnector/,
  );
  assert.match(violation("apps/cli/src/main.ts", "undici") ?? "", /third-party package undici/);
  assert.match(violation("packages/api/src/x.ts", "../../kube/src/index.ts") ?? "", /leaves packages\/api/);
  assert.equal(violation("packages/kube/src/x.ts", "undici"), undefined);
});
