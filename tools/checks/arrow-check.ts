/** Holds every import against the table of arrows.ts. */
import { dirname, join } from "node:path";
import { folderOf, folderRules, importsOf, testRule } from "./arrows.ts";
import type { Check } from "./check.ts";
import { isHandWritten, isTestSupport } from "./source-files.ts";

export const arrowCheck: Check = {
  name: "arrows",
  rule: "imports go only along the arrows of docs/architecture.md",
  advice: "move the code to where the arrows point; who may import whom stands in tools/checks/arrows.ts",
  find: ({ files }) =>
    files(isHandWritten).flatMap(({ path, text }) =>
      importsOf(text)
        .map((specifier) => violation(path, specifier))
        .filter((problem) => problem !== undefined)
        .map((problem) => `${path}: ${problem}`),
    ),
};

/** Returns why `path` may not import `specifier`, or undefined if it may. */
export function violation(path: string, specifier: string): string | undefined {
  const folder = folderOf(path);
  const rule = folderRules[folder];
  if (rule === undefined) return `folder ${folder} has no rule in tools/checks/arrows.ts`;
  if (specifier.startsWith("node:")) return undefined;
  if (specifier.startsWith(".")) {
    const target = folderOf(join(dirname(path), specifier));
    return target === folder || rule.beside?.includes(target) === true
      ? undefined
      : `relative import leaves ${folder} for ${target}`;
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

function packageNameOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
