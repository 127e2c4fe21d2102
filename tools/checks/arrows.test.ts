import assert from "node:assert/strict";
import { test } from "node:test";
import { readArchitecture } from "./architecture.ts";
import { importGraph, importsOf, violation } from "./arrows.ts";
import { openTree } from "./tree.ts";

test("the arrow check sees static, side-effect, dynamic and re-exporting imports", () => {
  const text = [
    'import { a } from "one";',
    'import type { b } from "two";',
    'export * from "three";',
    'import "four";',
    // Split in two, so that this file does not seem to import it.
    `const c = await ${"import"}("five");`,
    'import {\n  d,\n} from "six";',
  ].join("\n");
  assert.deepEqual(importsOf(text).toSorted(), ["five", "four", "one", "six", "three", "two"]);
});

test("the arrow check refuses an app that imports an app, a foreign owner's library and a relative escape", () => {
  const architecture = readArchitecture(openTree().text("docs/architecture.md"));
  const why = (path: string, specifier: string): string => violation(architecture, path, specifier) ?? "";
  assert.match(why("apps/cli/src/main.ts", "@klutch/konnector"), /may not import @klutch\/konnector/);
  assert.match(why("apps/cli/src/main.ts", "undici"), /may not import undici/);
  assert.match(
    why("packages/api/src/x.ts", "../../kube/src/index.ts"),
    /leaves packages\/api for packages\/kube/,
  );
  assert.match(why("packages/new/src/x.ts", "node:fs"), /packages\/new has no row/);
  for (const [path, specifier] of [
    ["packages/kube/src/x.ts", "undici"],
    ["packages/kube/src/x.ts", "@klutch/telemetry"],
    ["packages/api/src/x.ts", "node:fs"],
    ["packages/api/src/x.test.ts", "fast-check"],
    ["proof/bench/x.ts", "../e2e/x.ts"],
  ] as const)
    assert.equal(why(path, specifier), "", path);
});

test("the graph of imports follows packages to their index, and leaves out other packages", () => {
  const graph = importGraph([
    { path: "packages/a/src/index.ts", text: `${"export"} { b } from "./b.ts";` },
    { path: "packages/a/src/b.ts", text: "" },
    { path: "apps/c/src/main.ts", text: `${"import"} { b } from "@klutch/a";\n${"import"} x from "undici";` },
  ]);
  assert.deepEqual([...graph.values()], [["packages/a/src/b.ts"], [], ["packages/a/src/index.ts"]]);
});
