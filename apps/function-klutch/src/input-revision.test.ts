import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComposeRequest } from "@klutch/crossplane";
import { inputRevision } from "@klutch/services";
import { compose } from "./compose.ts";

const labels = { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "team" };
const instance: Omit<ComposeRequest, "input"> = {
  composite: {
    metadata: { name: "db-x1", labels },
    spec: { service: "a9s-postgresql17", plan: "postgresql-single-nano" },
  },
  observed: {},
  required: { environment: [], brokers: [] },
};

test("a Composition of a newer release changes nothing, and the claim is told what to install", () => {
  for (const resource of ["postgresql-instance", "service-instance", "service-binding", "managed-resource"]) {
    const of = (revision: unknown) =>
      compose({ ...instance, input: { resource, type: "postgresql", revision } });
    const newer = of(inputRevision + 1);
    assert.deepEqual(newer.resources, {});
    assert.deepEqual(
      newer.results?.map(({ severity }) => severity),
      ["warning", "fatal"],
    );
    assert.match(
      newer.results?.[1]?.message ?? "",
      /^input\.revision is 2, and this function-klutch .* reads up to 1: .*install the function of that release/,
    );
    for (const wrong of ["2", 0, 1.5, null, {}])
      assert.match(
        of(wrong).results?.[1]?.message ?? "",
        /^input\.revision is .*; it must be a whole number/,
      );
    const own = of(inputRevision).results ?? [];
    assert.ok(own.every(({ message }) => !message.includes("revision")));
  }
});
