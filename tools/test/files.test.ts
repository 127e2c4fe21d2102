import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import {
  allLongFiles,
  allTestFiles,
  batchesOf,
  chooseTestFiles,
  unmatchedFilters,
  withLong,
} from "./files.ts";
import { chooseParts, filesOf, longParts } from "./long-parts.ts";
import { repositoryRoot } from "../root.ts";
import { nearPaths } from "./near.ts";

const files = [
  "apps/konnector/src/main.test.ts",
  "packages/kube-runtime/src/work-queue.test.ts",
  "packages/kube/src/client.real.test.ts",
  "packages/kube/src/client.test.ts",
];

test("a filter chooses the paths that contain it, and the kinds are told apart by name", () => {
  assert.deepEqual(chooseTestFiles(files, ["packages/kube/", "main"]), {
    pure: ["apps/konnector/src/main.test.ts", "packages/kube/src/client.test.ts"],
    real: ["packages/kube/src/client.real.test.ts"],
  });
  assert.deepEqual(chooseTestFiles(files, ["./apps"]).pure, ["apps/konnector/src/main.test.ts"]);
  assert.equal(chooseTestFiles(files, []).pure.length, 3);
  const whole = "proof/e2e/whole-way.real.test.ts";
  assert.deepEqual(chooseTestFiles([...files, whole], []).real, [
    whole,
    "packages/kube/src/client.real.test.ts",
  ]);
});

test("each filter that matches nothing is reported, even beside one that does", () => {
  assert.deepEqual(unmatchedFilters(files, []), []);
  assert.deepEqual(unmatchedFilters(files, ["client", "packages/kube-runtme"]), [
    'No test file has "packages/kube-runtme" in its path. Did you mean packages/kube-runtime?',
  ]);
  assert.match(
    unmatchedFilters(files, ["nonsense"])[0] ?? "",
    /^No test file has "nonsense" in its path\. Give/,
  );
});

test("a source file leads to the tests beside it", () => {
  assert.deepEqual(nearPaths("packages/kube/src/client.ts", files).slice(0, 2).toSorted(), [
    "packages/kube/src/client.real.test.ts",
    "packages/kube/src/client.test.ts",
  ]);
  assert.deepEqual(nearPaths("work-queu.ts", files), ["packages/kube-runtime/src/work-queue.test.ts"]);
});

test("a path with one letter exchanged is always suggested", () => {
  fc.assert(
    fc.property(fc.constantFrom(...files), fc.nat(), (path, position) => {
      const stem = path.replace(/(\.real)?\.test\.ts$/, "");
      const at = position % stem.length;
      const typo = `${stem.slice(0, at)}~${stem.slice(at + 1)}`;
      assert.ok(nearPaths(typo, files).includes(path), typo);
    }),
  );
});

test("the command ends with 2 before it runs anything when a filter matches nothing", () => {
  const entry = join(import.meta.dirname, "main.ts");
  const result = spawnSync(process.execPath, [entry, "tools/checks/fils"], { encoding: "utf8" });
  assert.equal(result.status, 2);
  assert.equal(result.stdout, "");
  assert.match(result.stderr, /"tools\/checks\/fils".*Did you mean .*tools\/checks\/files\.test\.ts/);
});

test("every test file of the repository is found, and none of an installed package", () => {
  const all = allTestFiles();
  assert.ok(all.includes("tools/test/files.test.ts"));
  assert.deepEqual(
    all.filter((file) => file.includes("node_modules")),
    [],
  );
});

test("a long file runs only in its part, or when a filter names it and nothing else", () => {
  const long = ["packages/kube/src/nodes.long.test.ts"];
  assert.deepEqual(withLong(files, long, []), files);
  assert.deepEqual(withLong(files, long, ["packages/kube/"]), files);
  assert.deepEqual(withLong(files, long, ["./packages/kube/src/nodes"]), [...files, ...long]);
  assert.deepEqual(chooseTestFiles(long, []).real, long);
});

test("each long file belongs to exactly one part of test:long, and each program exists", () => {
  const long = allLongFiles();
  assert.ok(long.length > 10);
  const homes = longParts.flatMap((part) => filesOf(part, long));
  assert.deepEqual(homes.toSorted(), long);
  for (const { programs = [] } of longParts)
    for (const [entry] of programs) assert.ok(existsSync(join(repositoryRoot, entry)), entry);
  assert.deepEqual(
    chooseParts(["nodes"]).map(({ name }) => name),
    ["nodes"],
  );
  assert.throws(() => chooseParts(["node"]), /no part is called "node"; the parts are seeds, /);
});

test("batches hold every pure file once, and files that compute for long have one for themselves", () => {
  const many = Array.from({ length: 60 }, (_, index) => `packages/a/src/f${index}.test.ts`);
  const slow = "proof/simulation/seeds.test.ts";
  const batches = batchesOf([...many, slow]);
  assert.deepEqual(batches[0], [slow]);
  assert.deepEqual(batches.flat().toSorted(), [...many, slow].toSorted());
  assert.ok(batches.every(({ length }) => length <= 24));
});
