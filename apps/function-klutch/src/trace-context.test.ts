import assert from "node:assert/strict";
import { test } from "node:test";
import { traceAnnotation } from "@klutch/api";
import type { ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { textAt } from "@klutch/kube-core";
import { passTraceContext } from "./trace-context.ts";

const [one, two] = ["1", "2"].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);
const object = (plan: string, context: string | undefined): Json => ({
  apiVersion: "dataservices.anynines.com/v1",
  kind: "ServiceInstance",
  metadata: context === undefined ? {} : { annotations: { [traceAnnotation]: context } },
  spec: { forProvider: { planName: plan } },
});
const respond = (plan: string): ComposeResponse => ({
  resources: { managed: { resource: object(plan, undefined), ready: false } },
  results: [],
});
const request = (context: string | undefined, existing?: Json): ComposeRequest => ({
  composite: object("", context),
  observed: existing === undefined ? {} : { managed: { resource: existing, connection: {} } },
  input: undefined,
});
const passed = (
  composite: string | undefined,
  existing: Json | undefined,
  plan: string,
): string | undefined =>
  textAt(
    passTraceContext(request(composite, existing), respond(plan)).resources["managed"]?.resource,
    "metadata",
    "annotations",
    traceAnnotation,
  );

test("a resource that is made or changed gets the composite's context", () => {
  assert.equal(passed(one, undefined, "small"), one);
  assert.equal(passed(two, object("small", one), "big"), two);
  assert.equal(passed(undefined, object("small", one), "big"), undefined);
});

test("a resource that stays the same keeps its own, so that it is not written", () => {
  assert.equal(passed(two, object("small", one), "small"), one);
  assert.equal(passed(two, object("small", undefined), "small"), undefined);
  assert.equal(passed(undefined, object("small", one), "small"), one);
});

test("without any the response is the same, and a forged one is not passed on", () => {
  assert.deepEqual(passTraceContext(request(undefined), respond("small")), respond("small"));
  for (const forged of ["x".repeat(10_000), `${one}\n`, "", "00-evil"])
    assert.deepEqual(passTraceContext(request(forged), respond("small")), respond("small"));
});
