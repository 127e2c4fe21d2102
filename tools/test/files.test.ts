import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { kubernetesVersions } from "@klutch/engines";
import { chosenKubernetes } from "@klutch/kube-testing";
import { repositoryRoot } from "../root.ts";
import { allTestFiles, batchesOf, byKind, chooseTestFiles, processesFor } from "./files.ts";
import { chooseParts, filesOf, longParts, programOf, triedKubernetes } from "./long-parts.ts";
import { inLanes } from "./stage.ts";

const files = byKind([
  "apps/konnector/src/main.test.ts",
  "packages/kube-runtime/src/work-queue.test.ts",
  "packages/kube/src/client.real.test.ts",
  "packages/kube/src/client.test.ts",
  "packages/kube/src/nodes.long.test.ts",
]);

test("a filter chooses the paths that contain it, and the kinds are told apart by name", () => {
  assert.deepEqual(chooseTestFiles(files, ["packages/kube/", "main"]), {
    pure: ["apps/konnector/src/main.test.ts", "packages/kube/src/client.test.ts"],
    real: ["packages/kube/src/client.real.test.ts"],
    long: [],
    unmatched: [],
  });
  assert.deepEqual(chooseTestFiles(files, ["./apps"]).pure, ["apps/konnector/src/main.test.ts"]);
  assert.equal(chooseTestFiles(files, []).pure.length, 3);
});

test("each filter that matches nothing is reported, even beside one that does", () => {
  assert.deepEqual(chooseTestFiles(files, []).unmatched, []);
  const wrong = "packages/kube-runtme";
  assert.deepEqual(chooseTestFiles(files, ["client", wrong]).unmatched, [wrong]);
});

test("the command ends with 2 before it runs anything when a filter matches nothing", () => {
  const entry = join(import.meta.dirname, "main.ts");
  const result = spawnSync(process.execPath, [entry, "tools/checks/fils"], { encoding: "utf8" });
  assert.equal(result.status, 2);
  assert.equal(result.stdout, "");
  assert.match(result.stderr, /^No test file has "tools\/checks\/fils" in its path\. Give/);
});

test("every test file of the repository is found, and none of an installed package", () => {
  const { pure, real, long } = allTestFiles();
  assert.ok(pure.includes("tools/test/files.test.ts"));
  assert.deepEqual(
    [...pure, ...real, ...long].filter((file) => file.includes("node_modules")),
    [],
  );
});

test("a long file runs only in its part, or when a filter names it and nothing else", () => {
  assert.deepEqual(chooseTestFiles(files, []).long, []);
  assert.deepEqual(chooseTestFiles(files, ["packages/kube/"]).long, []);
  const named = chooseTestFiles(files, ["./packages/kube/src/nodes"]);
  assert.deepEqual(named, { pure: [], real: [], long: files.long, unmatched: [] });
});

test("each long file belongs to exactly one part of test:long, and each program exists", () => {
  const { long } = allTestFiles();
  assert.ok(long.length > 10);
  const homes = longParts.flatMap((part) => filesOf(part, long));
  assert.deepEqual(homes.toSorted(), long);
  for (const program of longParts.flatMap(({ programs }) => programs))
    assert.ok(existsSync(join(repositoryRoot, programOf(program).entry)), program);
  assert.deepEqual(
    chooseParts(["nodes"]).map(({ name }) => name),
    ["nodes"],
  );
  assert.throws(() => chooseParts(["node"]), /no part is called "node"; the parts are seeds, /);
});

test("a part's tests with another version of Kubernetes name files that exist and pinned versions, and docs/support.md names each", async () => {
  const tried = triedKubernetes();
  assert.deepEqual(new Set(tried.flat()), new Set(kubernetesVersions));
  const single = tried.filter(({ length }) => length === 1).flat();
  assert.deepEqual(new Set(single), new Set(kubernetesVersions), "each version has a run of its own");
  const programs = longParts.flatMap((part) => part.programs.map(programOf)).filter(({ isTests }) => isTests);
  for (const { args, variables } of programs) {
    assert.deepEqual(chooseTestFiles(allTestFiles(), args).unmatched, []);
    chosenKubernetes(variables["KLUTCH_KUBERNETES"]);
  }
  const page = await readFile(join(repositoryRoot, "docs/support.md"), "utf8");
  const [, cell = "", older = ""] = /^\| Kubernetes, .*? \| (.*?) \| (.*?) \|$/m.exec(page) ?? [];
  assert.deepEqual([...new Set(cell.match(/v1\.\d+\.\d+/g))], [...kubernetesVersions]);
  // The charts refuse what is older than the oldest version that is tried.
  const oldest = kubernetesVersions.at(-1);
  const [minor = ""] = /1\.\d+/.exec(oldest ?? "") ?? [];
  assert.ok(older.startsWith(`${minor} and newer`), older);
  const chart = await readFile(join(repositoryRoot, "tools/charts/chart.yaml"), "utf8");
  assert.ok(chart.includes(`kubeVersion: ">=${minor}.0-0"`), minor);
});

test("batches hold every pure file once, and files that compute for long have one for themselves", () => {
  const many = Array.from({ length: 60 }, (_, index) => `packages/a/src/f${index}.test.ts`);
  const slow = ["proof/simulation/hostile.test.ts", "proof/simulation/seeds.test.ts"];
  const batches = batchesOf([...many, ...slow]);
  assert.deepEqual(batches.slice(0, 2), [[slow[1]], [slow[0]]]);
  assert.deepEqual(batches.flat().toSorted(), [...many, ...slow].toSorted());
  assert.ok(batches.every(({ length }) => length <= 24));
});

test("files on servers have a process each, or one for a folder that shares it; whole installations have a queue of their own, and the longest start first", () => {
  const whole = ["proof/e2e/security/access-matrix.real.test.ts", "proof/e2e/whole-way.real.test.ts"];
  const sharing = ["packages/services/src/a.real.test.ts", "packages/services/src/b/c.real.test.ts"];
  assert.deepEqual(processesFor([...files.real, ...whole, ...sharing]), {
    whole: [[whole[1]], [whole[0]]],
    other: [sharing, [...files.real]],
  });
});

test("lanes work on each item of shared queues once, and turn to the next queue when one is empty", async () => {
  const [whole, other] = [
    ["a", "b"],
    ["1", "2", "3"],
  ];
  const order: string[] = [];
  const results = await inLanes(
    [
      [whole, other],
      [other, whole],
    ],
    async (item) => {
      order.push(item);
      await new Promise(setImmediate);
      return item;
    },
  );
  assert.deepEqual(order, ["a", "1", "b", "2", "3"]);
  assert.deepEqual(results.toSorted(), ["1", "2", "3", "a", "b"]);
});

test("late lanes help with the same queue when others are done, and are not waited for when it is empty", async () => {
  const queue = ["a", "b", "c", "d"];
  const { promise: after, resolve } = Promise.withResolvers<undefined>();
  const counts: number[] = [];
  let now = 0;
  const work = async (item: string): Promise<string> => {
    counts.push(++now);
    if (item === "b") resolve(undefined);
    await new Promise(setImmediate);
    now--;
    return item;
  };
  const late = [[queue]];
  assert.deepEqual((await inLanes([[queue]], work, { after, lanes: late })).toSorted(), queue);
  assert.deepEqual([counts.slice(0, 2), Math.max(...counts)], [[1, 1], 2]);
  const never = new Promise(() => undefined);
  assert.deepEqual(await inLanes([[queue]], work, { after: never, lanes: late }), queue);
});
