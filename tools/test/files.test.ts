import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { allTestFiles, chooseTestFiles, unmatchedFilters } from "./files.ts";
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
