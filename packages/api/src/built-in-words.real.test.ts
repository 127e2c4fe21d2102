/** The list of words against the discovery of a real API server that serves all of its APIs. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listAt, recordsAt, textAt } from "@klutch/kube-core";
import { startCluster } from "@klutch/kube-testing";
import { builtInWords, freeWords, isTakenSingular } from "./built-in-words.ts";

const cluster = await startCluster({ name: "words", apiServerArgs: ["--runtime-config=api/all=true"] });
after(() => cluster[Symbol.asyncDispose]());
const get = (path: string): Promise<unknown> => cluster.client.request({ method: "GET", path });

const groups = recordsAt(await get("/apis"), "groups").flatMap((group) => recordsAt(group, "versions"));
const paths = ["/api/v1", ...groups.map((version) => `/apis/${textAt(version, "groupVersion")}`)];
const answers = await Promise.all(paths.map(get));
const kinds = answers
  .flatMap((answer) => recordsAt(answer, "resources"))
  .filter(({ name }) => !String(name).includes("/"));

test("each name, short name and category of the built-in kinds of a real API server is in the list", () => {
  assert.ok(kinds.length > 80, `only ${kinds.length} kinds`);
  for (const field of ["shortNames", "categories"])
    assert.ok(kinds.flatMap((kind) => listAt(kind, field)).length > 0, field);
  const words = kinds.flatMap((kind) => [
    ...["name", "singularName"].map((field) => String(kind[field])),
    ...["shortNames", "categories"].flatMap((field) => listAt(kind, field).map(String)),
  ]);
  assert.deepEqual([...new Set(freeWords(words))], []);
  assert.equal(new Set(builtInWords).size, builtInWords.length);
});

test("each plural of a built-in kind follows from its singular, so a bound API of the same name keeps both", () => {
  const irregular = kinds.filter(({ name, singularName }) =>
    isTakenSingular(String(singularName), String(name)),
  );
  assert.deepEqual(irregular, []);
});
