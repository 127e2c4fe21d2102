import assert from "node:assert/strict";
import { test } from "node:test";
import type { APIServiceBinding } from "@klutch/api";
import { alarmCondition, falseCondition, type NewCondition, trueCondition } from "@klutch/kube-core";
import { createMetrics } from "@klutch/telemetry";
import * as declarations from "../../metrics.ts";
import { problemsOf } from "./problems.ts";

const binding = (name: string, ...conditions: readonly NewCondition[]) =>
  ({
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceBinding",
    metadata: { name },
    spec: {},
    status: { conditions },
  }) as unknown as APIServiceBinding;

async function shown(bindings: readonly APIServiceBinding[]): Promise<readonly string[]> {
  const metrics = createMetrics();
  using _ = metrics.read(declarations.bindingProblems, () => problemsOf(bindings));
  return (await metrics.text()).split("\n").filter((line) => line.startsWith("klutch_binding_problems{"));
}

test("alarms and conditions that are False are problems, others and summaries are not", async () => {
  const away = falseCondition("Heartbeating", "ProviderUnreachable", "Warning", "away");
  const bindings = [
    binding("well", trueCondition("Ready"), trueCondition("Heartbeating")),
    binding("away", falseCondition("Ready", "ProviderUnreachable", "Warning", "away"), away),
    binding("also-away", away, { type: "SecretValid", status: "Unknown" }),
    binding("leaving", alarmCondition("Unbinding", "Delete", "Info", "on its way")),
    binding("held", alarmCondition("DeletionHeld", "MassDeletion", "Warning", "many")),
    { ...binding("new"), status: undefined },
  ];
  assert.deepEqual(await shown(bindings), [
    'klutch_binding_problems{condition="Heartbeating",reason="ProviderUnreachable"} 2',
    'klutch_binding_problems{condition="DeletionHeld",reason="MassDeletion"} 1',
  ]);
});

test("reasons of the other side are few series", async () => {
  const bindings = Array.from({ length: 10_000 }, (_, index) =>
    binding(`b${index}`, falseCondition("SchemaInSync", `Reason${index}`, "Error", "x")),
  );
  const lines = await shown(bindings);
  assert.ok(lines.length <= 31, `${lines.length}`);
  assert.ok(lines.includes('klutch_binding_problems{condition="SchemaInSync",reason="other"} 9970'));
});
