import assert from "node:assert/strict";
import { test } from "node:test";
import { type ForeignExport, parseExport } from "@klutch/api";
import { conditionsOf, falseCondition, type NewCondition } from "@klutch/kube-core";
import { fakeClient, VirtualClock } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { writeExportStatus } from "./export-status.ts";

const exported: ForeignExport = parseExport({
  metadata: { namespace: "cluster-a", name: "widgets.example.org" },
});

/** The condition `ConsumerInSync` that the provider gets. */
async function toldOf(schemaInSync: NewCondition): Promise<NewCondition | undefined> {
  let written: unknown;
  const client = {
    ...fakeClient({}),
    mergePatch: (_type: unknown, _ref: unknown, patch: unknown) => {
      written = patch;
      return Promise.resolve(patch);
    },
  };
  const inUse = { exported, isBound: true, schemaInSync, crd: undefined };
  const exports = { wrote: () => undefined };
  const runtime = { clock: new VirtualClock(), logger: silentLogger };
  const { signal } = new AbortController();
  await writeExportStatus(inUse, client as never, exports as never, runtime, signal);
  return conditionsOf(written as { status?: unknown }).find(({ type }) => type === "ConsumerInSync");
}

test("a refusal of the app cluster's API server, or of a webhook of it, is told to the provider without its words", async () => {
  for (const reason of ["CustomResourceDefinitionCreateFailed", "CustomResourceDefinitionUpdateFailed"]) {
    const message = 'admission webhook "guard.corp.internal" denied the request: hunter2';
    const told = await toldOf(falseCondition("SchemaInSync", reason, "Error", message));
    assert.equal(told?.reason, reason);
    assert.doesNotMatch(told.message ?? "", /hunter2|corp/);
    assert.match(told.message ?? "", /condition SchemaInSync of the APIServiceBinding there says why/);
  }
  const held = falseCondition("SchemaInSync", "BreakingSchemaChange", "Warning", "Widget app/a does not fit");
  assert.equal((await toldOf(held))?.message, held.message);
});
