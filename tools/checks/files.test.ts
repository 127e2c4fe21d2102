import assert from "node:assert/strict";
import { test } from "node:test";
import { isHandWritten, sourceFiles } from "./source-files.ts";

const longestFile = 400;
const isText = (path: string): boolean => !/\.(png|sum)$|package-lock\.json$/.test(path);

test("no hand-written source file is longer than 400 lines", () => {
  const long = sourceFiles(isHandWritten)
    .map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
    .filter(({ lines }) => lines > longestFile)
    .map(({ path, lines }) => `${path}: ${lines} lines`);
  assert.deepEqual(long, []);
});

test("no file names a package registry's host or an absolute path of a developer's machine", () => {
  // Written in pieces, so that this file passes its own check.
  const forbidden = [
    ["registry", "npmjs", "org"].join("."),
    ["proxy", "golang", "org"].join("."),
    ["deb", "debian", "org"].join("."),
    ["repo1", "maven", "org"].join("."),
    ["pypi", "org"].join("."),
    `/${["work", "main"].join("/")}`,
    `/${["root", "go"].join("/")}`,
    `/${["tmp", "eng"].join("/")}`,
  ];
  const found = sourceFiles(isText).flatMap(({ path, text }) =>
    forbidden.filter((word) => text.includes(word)).map((word) => `${path}: ${word}`),
  );
  assert.deepEqual(found, []);
});

test("unfinished work is written down in docs/known-limits.md, not in the code", () => {
  const marker = new RegExp(
    `\\b(${["TO", "DO"].join("")}|${["FIX", "ME"].join("")}|${["XX", "X"].join("")})\\b`,
  );
  const found = sourceFiles(isHandWritten)
    .filter(({ text }) => marker.test(text))
    .map(({ path }) => path);
  assert.deepEqual(found, []);
});

test("every workspace has the repository's version, licence and a description of what it is", () => {
  const faults = sourceFiles((path) =>
    /^(packages\/[^/]+|services|apps\/[^/]+)\/package\.json$/.test(path),
  ).flatMap(({ path, text }) => {
    const manifest: unknown = JSON.parse(text);
    assert.ok(typeof manifest === "object" && manifest !== null);
    const fields = new Map<string, unknown>(Object.entries(manifest));
    const wrong: string[] = [];
    if (fields.get("version") !== "0.1.0") wrong.push("version");
    if (fields.get("license") !== "Apache-2.0") wrong.push("license");
    if (typeof fields.get("description") !== "string") wrong.push("description");
    return wrong.map((field) => `${path}: ${field}`);
  });
  assert.deepEqual(faults, []);
});
