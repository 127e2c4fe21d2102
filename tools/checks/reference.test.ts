import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { repositoryRoot } from "../root.ts";
import { isHandWritten, sourceFiles } from "./source-files.ts";

const sources = sourceFiles(
  (path) => isHandWritten(path) && /^(packages|apps)\//.test(path) && !/\.test\.ts$|\/testing\//.test(path),
);
const page = (name: string): string => readFileSync(join(repositoryRoot, "docs", "reference", name), "utf8");

/** What the pattern's groups match in the source, without repetitions. */
function found(pattern: RegExp): readonly string[] {
  const all = sources.flatMap(({ text }) =>
    [...text.matchAll(pattern)].flatMap((match) => match.slice(1).filter((group) => group !== undefined)),
  );
  return [...new Set(all)].toSorted();
}

test("every annotation, label and finalizer of ours is in docs/reference/names.md", () => {
  const names = found(
    /const \w+(?:: string)? =\s*"((?:[\w-]+\.)*(?:klutch\.anynines\.com|klutch\.io|crossplane\.io)\/(?!v\d)[\w-]+)"/g,
  );
  assert.ok(names.length > 40, `only ${names.length} names found: does the pattern still fit the source?`);
  const text = page("names.md");
  assert.deepEqual(
    names.filter((name) => !text.includes(`\`${name}\``)),
    [],
  );
});

test("every condition's type and reason and every event's reason is in docs/reference/conditions.md", () => {
  const words = [
    /\bfalseCondition\(\s*(?:"(\w+)"|\w+),\s*"(\w+)"/g,
    /\balarmCondition\(\s*"(\w+)",\s*"(\w+)"/g,
    /\btrueCondition\(\s*"(\w+)"/g,
    /\b(?:notReady|notHealthy|refuse)\(\s*"([A-Z]\w+)"/g,
    /\b(?:tell|warn|note)\(\s*[\w.()]+,\s*(?:"(?:Normal|Warning)",\s*)?"(?!Normal|Warning)([A-Z]\w+)"/g,
    /\["(?:Normal|Warning)", "(\w+)"/g,
    /\breport\.run\(\s*(?:"(\w+)"|\w+),\s*"(\w+)"/g,
  ].flatMap(found);
  assert.ok(words.length > 60, `only ${words.length} words found: do the patterns still fit the source?`);
  const text = page("conditions.md");
  assert.deepEqual(
    words.filter((word) => !text.includes(`\`${word}\``)),
    [],
  );
});

test("links between the pages of docs and designs lead somewhere", () => {
  const pages = sourceFiles((path) => /^(docs\/.*|designs\/.*|[^/]+)\.md$/.test(path));
  const byPath = new Map(pages.map(({ path, text }) => [path, text]));
  const broken = pages.flatMap(({ path, text }) =>
    [...text.replaceAll(/`[^`\n]*`/g, "").matchAll(/\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)/g)]
      .filter(([, file = "", anchor = ""]) => {
        const target = file === "" ? path : join(path, "..", file);
        const content = byPath.get(target);
        if (content === undefined)
          return sourceFiles((one) => one === target || one.startsWith(`${target}/`)).length === 0;
        return anchor !== "" && !anchorsOf(content).has(anchor.slice(1));
      })
      .map(([link]) => `${path}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

/** Anchors of a page's headings, as they are made from them. */
function anchorsOf(text: string): ReadonlySet<string> {
  return new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}
