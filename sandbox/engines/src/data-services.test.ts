import assert from "node:assert/strict";
import { test } from "node:test";
import { readOnDemandServices } from "./data-services.ts";

test("a list of services may be empty, and names each once", () => {
  assert.deepEqual(readOnDemandServices(""), []);
  assert.deepEqual(readOnDemandServices("mongodb,prometheus,mongodb,"), ["prometheus", "mongodb"]);
});

test("another service is refused, and the message names the possible ones", () => {
  for (const other of ["mariadb", "MongoDB", " prometheus", "constructor"])
    assert.throws(
      () => readOnDemandServices(`prometheus,${other}`),
      new RegExp(
        `^RangeError: has "${other}", but each must be one of prometheus, mongodb, messaging, search, logme2$`,
      ),
    );
});
