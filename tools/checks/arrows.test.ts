import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { folderOf, folderRules, importsOf, testRule } from "./arrows.ts";
import { isHandWritten, sourceFiles } from "./source-files.ts";

const sources = sourceFiles(isHandWritten);

/** Files that only tests load: the tests themselves and the helpers beside them. */
function isTestSupport(path: string): boolean {
  return path.endsWith(".test.ts") || path.includes("/testing/") || path.endsWith("-testing.ts");
}

function packageNameOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** Why the import is not allowed, or undefined. */
function violation(path: string, specifier: string): string | undefined {
  const folder = folderOf(path);
  const rule = folderRules[folder];
  if (rule === undefined) return `folder ${folder} has no rule in tools/checks/arrows.ts`;
  if (specifier.startsWith("node:")) return undefined;
  if (specifier.startsWith(".")) {
    const target = folderOf(join(dirname(path), specifier));
    return target === folder ? undefined : `relative import leaves ${folder} for ${target}`;
  }
  const extra = isTestSupport(path) ? testRule : { parts: [], thirdParty: [] };
  if (specifier.startsWith("@klutch/")) {
    const part = specifier.slice("@klutch/".length);
    if (part === "telemetry" || rule.parts.includes(part) || extra.parts.includes(part)) return undefined;
    return `${folder} may not import ${specifier}`;
  }
  const name = packageNameOf(specifier);
  if (rule.thirdParty.includes(name) || extra.thirdParty.includes(name)) return undefined;
  return `${folder} may not import the third-party package ${name}`;
}

test("imports go only along the arrows of docs/architecture.md", () => {
  const found = sources.flatMap(({ path, text }) =>
    importsOf(text)
      .map((specifier) => violation(path, specifier))
      .filter((problem) => problem !== undefined)
      .map((problem) => `${path}: ${problem}`),
  );
  assert.deepEqual(found, []);
});

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
