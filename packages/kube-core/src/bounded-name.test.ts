import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { boundedName } from "./bounded-name.ts";

const label = fc.oneof(
  fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?$/),
  fc.stringMatching(/^[a-z0-9][-a-z0-9]{45,61}[a-z0-9]$/),
);

test("two long names that begin alike stay apart", () => {
  fc.assert(
    fc.property(fc.uniqueArray(label, { minLength: 2, maxLength: 20 }), (ends) => {
      const names = ends.map((end) => boundedName(`${"x".repeat(70)}-${end}`));
      assert.equal(new Set(names).size, ends.length);
    }),
  );
});

test("a name that is short enough is left alone", () => {
  fc.assert(
    fc.property(label, (name) => {
      assert.equal(boundedName(name), name);
    }),
  );
});
