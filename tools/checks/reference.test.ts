import assert from "node:assert/strict";
import { test } from "node:test";
import { reasonsIn } from "./reasons.ts";
import { namesIn, undocumented, unexplained } from "./reference.ts";

test("names are found where a constant holds them, and versions of an API are no names", () => {
  const text = `
    export const boundAnnotation = "klutch.anynines.com/bound";
    const missing: string = "anynines.crossplane.io/missing";
    const apiVersion = "klutch.anynines.com/v1alpha1";`;
  assert.deepEqual(namesIn([{ path: "a.ts", text }]), [
    "anynines.crossplane.io/missing",
    "klutch.anynines.com/bound",
  ]);
});

test("a word that the page does not have as code is reported with the first file that has it", () => {
  const text = `falseCondition("Connected", "WrongProvider", "Error", message);`;
  const files = ["b.ts", "c.ts"].map((path) => ({ path, text }));
  assert.deepEqual(undocumented("| `Connected` | WrongProvider |", files, reasonsIn), [
    "b.ts: WrongProvider",
  ]);
});

test("a reason without a row and a row without a reason are both told", () => {
  const files = [{ path: "b.ts", text: `falseCondition("Connected", "WrongProvider", "Error", message);` }];
  assert.deepEqual(unexplained("| `Connected`, `Gone` | means | do |", files), [
    "no row explains WrongProvider",
    "no program says Gone",
  ]);
});
