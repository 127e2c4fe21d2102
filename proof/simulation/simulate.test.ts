import assert from "node:assert/strict";
import { test } from "node:test";
import { isRecord } from "@klutch/kube-core";
import type { Tamper } from "./agent.ts";
import { simulate } from "./simulate.ts";

test("a seed takes the same course every time", async () => {
  const [first, second] = [await simulate(7), await simulate(7)];
  assert.deepEqual(second.story, first.story);
  assert.ok(first.writes > 50, `only ${first.writes} writes`);
});

test("an agent that writes another spec is noticed", async () => {
  const tamper: Tamper = (side, verb, type, body) =>
    side === "provider" && verb === "apply" && type.plural === "databases" && isRecord(body)
      ? { ...body, spec: { size: -1 } }
      : body;
  const { broken } = await simulate(1, { tamper });
  assert.ok(
    broken.some((line) => line.includes("Content")),
    broken.join("\n"),
  );
});

test("an agent that writes an old status is noticed", async () => {
  const older = (operation: unknown): unknown => {
    if (!isRecord(operation) || !isRecord(operation["value"])) return operation;
    const { value } = operation;
    return typeof value["count"] === "number"
      ? { ...operation, value: { ...value, count: 1000 - value["count"] } }
      : operation;
  };
  const tamper: Tamper = (_side, verb, _type, body) =>
    verb === "jsonPatch" && Array.isArray(body) ? (body.map(older) as typeof body) : body;
  const { broken } = await simulate(1, { tamper });
  assert.ok(
    broken.some((line) => line.includes("status goes never back")),
    broken.join("\n"),
  );
});

test("an agent that lets claims go without their upstream objects is noticed", async () => {
  const tamper: Tamper = (side, verb, _type, body) =>
    side === "consumer" && verb === "apply" && isRecord(body) && isRecord(body["metadata"])
      ? { ...body, metadata: { ...body["metadata"], finalizers: [] } }
      : body;
  const { broken } = await simulate(1, { tamper });
  assert.ok(
    broken.some((line) => line.includes("a claim goes after its upstream")),
    broken.join("\n"),
  );
});
