import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  Ready,
  type RunFunctionRequest,
  RunFunctionRequestSchema,
  Severity,
  Status,
  Target,
} from "../gen/run_function_pb.js";
import { decodeRequest, encodeResponse } from "./codec.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function requestOf(fields: MessageInitShape<typeof RunFunctionRequestSchema>): RunFunctionRequest {
  return create(RunFunctionRequestSchema, fields);
}

/** The desired state that an earlier step of the pipeline made. */
const earlier = requestOf({
  meta: { tag: "step-2" },
  context: { region: "eu" },
  desired: {
    composite: {
      resource: { spec: { keep: true }, status: { old: true } },
      connectionDetails: { host: bytes("h"), port: bytes("1") },
    },
    resources: { bucket: { resource: { kind: "Bucket" } }, both: { resource: { kind: "Old" } } },
  },
});

test("a request without anything is empty objects, not an error", () => {
  assert.deepEqual(decodeRequest(requestOf({}), 7), {
    composite: {},
    observed: {},
    input: undefined,
    required: {},
    now: 7,
  });
});

test("observed resources come with their connection, by the name this function gave them", () => {
  const request = requestOf({
    input: { kind: "Input" },
    observed: {
      composite: { resource: { kind: "XCrate" } },
      resources: { crate: { resource: { kind: "Crate" }, connectionDetails: { id: bytes("7") } }, bare: {} },
    },
  });
  assert.deepEqual(decodeRequest(request, 7), {
    now: 7,
    composite: { kind: "XCrate" },
    observed: {
      crate: { resource: { kind: "Crate" }, connection: { id: bytes("7") } },
      bare: { resource: {}, connection: {} },
    },
    input: { kind: "Input" },
    required: {},
  });
});

test("an answer keeps what earlier steps want and lays its own over it", () => {
  const response = encodeResponse(earlier, {
    resources: {
      crate: { resource: { kind: "Crate", spec: { size: 1, label: undefined } }, ready: true },
      both: { resource: { kind: "New" }, ready: false },
    },
    compositeStatus: { fresh: true },
    connection: { port: bytes("2") },
  });
  assert.equal(response.meta?.tag, "step-2");
  assert.equal(response.meta.ttl?.seconds, 60n);
  assert.deepEqual(response.context, { region: "eu" });
  const { composite, resources = {} } = response.desired ?? {};
  assert.deepEqual(composite?.resource, { spec: { keep: true }, status: { fresh: true } });
  assert.deepEqual(composite?.connectionDetails, { host: bytes("h"), port: bytes("2") });
  assert.deepEqual(
    Object.entries(resources).map(([name, { resource, ready }]) => [name, resource, ready]),
    [
      ["bucket", { kind: "Bucket" }, Ready.UNSPECIFIED],
      ["both", { kind: "New" }, Ready.FALSE],
      ["crate", { kind: "Crate", spec: { size: 1 } }, Ready.TRUE],
    ],
  );
});

test("an answer without a status leaves that of an earlier step", () => {
  const response = encodeResponse(earlier, { resources: {} });
  assert.deepEqual(response.desired?.composite?.resource, { spec: { keep: true }, status: { old: true } });
});

test("a fatal result leaves everything as earlier steps want it", () => {
  const response = encodeResponse(earlier, {
    resources: { crate: { resource: { kind: "Crate" }, ready: true } },
    compositeStatus: { fresh: true },
    connection: { port: bytes("2") },
    results: [{ severity: "fatal", message: "no such plan" }],
  });
  assert.deepEqual(Object.keys(response.desired?.resources ?? {}), ["bucket", "both"]);
  assert.deepEqual(response.desired?.composite?.resource, { spec: { keep: true }, status: { old: true } });
  assert.deepEqual(response.desired.composite.connectionDetails["port"], bytes("1"));
});

test("results and conditions reach the composite and its claim with their weight", () => {
  const response = encodeResponse(requestOf({}), {
    resources: {},
    results: [
      { severity: "warning", reason: "Odd", message: "w" },
      { severity: "normal", message: "n" },
    ],
    conditions: [
      { type: "A", status: "True", reason: "Fine" },
      { type: "B", status: "False", reason: "Broken", message: "why" },
      { type: "C", status: "Unknown", reason: "Soon" },
    ],
  });
  assert.deepEqual(
    response.results.map(({ severity, reason, message, target }) => [severity, reason, message, target]),
    [
      [Severity.WARNING, "Odd", "w", Target.COMPOSITE_AND_CLAIM],
      [Severity.NORMAL, undefined, "n", Target.COMPOSITE_AND_CLAIM],
    ],
  );
  assert.deepEqual(
    response.conditions.map(({ type, status, message, target }) => [type, status, message, target]),
    [
      ["A", Status.CONDITION_TRUE, undefined, Target.COMPOSITE_AND_CLAIM],
      ["B", Status.CONDITION_FALSE, "why", Target.COMPOSITE_AND_CLAIM],
      ["C", Status.CONDITION_UNKNOWN, undefined, Target.COMPOSITE_AND_CLAIM],
    ],
  );
});
